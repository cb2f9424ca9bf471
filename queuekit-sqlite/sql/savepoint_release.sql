-- Purpose: forgets the mark: the call's work is part of the transaction now.
RELEASE queuekit;
