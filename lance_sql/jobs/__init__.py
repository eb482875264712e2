"""Jobs of several processes or calls that end in one commit, and changes applied by key."""
