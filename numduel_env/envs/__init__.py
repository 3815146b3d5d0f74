"""The environments: one game as PettingZoo (``aec``), Gymnasium (``single``) and in batches (``vector``).

``base`` is what they share. ``text`` is a duel in writing, for language models. ``openspiel``, ``sb3`` and ``rllib``
serve the frameworks of these names, and need them.
"""
