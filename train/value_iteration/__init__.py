"""What train/values.py is made of: value iteration over afterstates, in self-play. Nothing here asks a solver."""
