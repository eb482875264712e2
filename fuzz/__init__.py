"""Mutation testing of everything that reads bytes of a table: `make fuzz`, or `python -m fuzz --help`.

    seeds       small real tables that pylance writes, and valid calls of each kernel
    mutations   changes of them: cuts, flipped bits, absurd numbers, blocks that move, edited messages
    targets     the decoders: each ends with a result or with one of the errors that it may raise
    worker      runs inputs one after the other; too much time or memory, or any other error, is a find
    __main__    starts the workers, survives their deaths, keeps the inputs that killed them, counts

Workers run twice: with the library as it is, and with kernels that AddressSanitizer and UndefinedBehaviorSanitizer
watch. An input follows from its number, so nothing is written before something goes wrong.

The format has no checksums: a value that was changed into another valid one is read as that value, undetected. A run
checks that rows have the right number and form, and that nothing else happens.
"""
