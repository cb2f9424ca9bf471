-- Keeps the server busy until SCRIPT KILL ends it.
-- KEYS: none.
-- ARGV: none.
-- Result: never one.
while true do
end
