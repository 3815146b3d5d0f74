"""Learning by PPO of Ray RLlib: the algorithm's setup, and the folder of a run."""
