-- Purpose: forgets the mark: the call's work is the transaction's now.
RELEASE queuekit;
