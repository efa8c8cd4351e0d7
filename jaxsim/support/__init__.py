"""What controllers and planners ask of a state: Jacobians, inertia, forces, positions, derivatives of steps.

Functions of one world, by their MuJoCo names and with MuJoCo's shapes; all JAX transformations compose on them. They
read results of `forward` (or of the stages) from the data and give arrays back.
"""
