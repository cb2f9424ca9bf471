-- Purpose: lets changes of settings complete again.
DROP TRIGGER stop_moving;
