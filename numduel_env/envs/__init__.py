"""The environments: one game as PettingZoo (``aec``), Gymnasium (``single``) and in batches (``vector``).

``base`` is what they share. ``openspiel``, ``sb3`` and ``rllib`` serve the frameworks of these names, and need them.
"""
