"""Jobs of several processes or calls with one commit, and changes applied by key."""
