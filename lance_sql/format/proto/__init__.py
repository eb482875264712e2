"""The format's messages, generated from protos/ by scripts/protos.sh; nothing here is written by hand.

Imported only by the modules that parse them: a message never leaves the module that parsed it.
"""
