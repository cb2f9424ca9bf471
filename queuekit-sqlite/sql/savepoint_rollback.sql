-- Purpose: undoes a call that failed, and nothing else of the transaction.
ROLLBACK TO queuekit;
