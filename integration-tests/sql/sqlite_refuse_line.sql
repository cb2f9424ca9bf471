-- Purpose: makes a step fail that stores the log line `poison`.
CREATE TRIGGER refuse_line BEFORE INSERT ON queuekit_logs WHEN new.line = 'poison'
BEGIN
    SELECT raise(ABORT, 'refused for the test');
END;
