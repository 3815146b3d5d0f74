"""What train/nimbers.py is made of: fitted Grundy iteration, on the parts of positions. Nothing here asks a solver."""
