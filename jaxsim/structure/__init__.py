"""What is known of a model before any state: pure host code, cached by the static part of the model."""
