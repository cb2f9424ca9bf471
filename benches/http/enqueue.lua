-- For wrk: stores one small job per request.
--   wrk -t1 -c64 -d10s --latency -s benches/http/enqueue.lua http://127.0.0.1:8080/v1/jobs
-- luacheck: globals wrk
wrk.method = "POST"
wrk.body = '{"kind":"echo","payload":{"a":1}}'
wrk.headers["Content-Type"] = "application/json"
