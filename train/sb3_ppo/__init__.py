"""Learning by MaskablePPO of sb3-contrib: the environment, the network, the opponents and what happens beside."""
