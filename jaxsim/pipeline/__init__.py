"""Model, Data -> Data: the stages of a step, written for worlds on the last axis."""
