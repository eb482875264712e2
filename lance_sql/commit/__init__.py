"""A new version of a table: what changed, whether it goes together with what others changed, and the one atomic step.

Operation --committer--> transactions of newer versions --conflicts--> rebase --manifest_builder--> manifest file
"""
