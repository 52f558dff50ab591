-- take for policies of which at least one has bans: does what take.lua does,
-- and decides and begins bans in the same step.
--
-- KEYS      the client of each policy, as take has them, then of each policy
--           the ban of its client; all of one slot
-- ARGV[1]   as take has it, with 0 as the time
-- ARGV[2]   of each policy numbers of 7 bytes each: the length of a ban in ms
--           (0: the policy has no bans), the longest (0: all are of that
--           length), and 1 + the ms that the request may wait for room: a
--           rejection that lasts longer begins a ban (0: none does)
--
-- reply     as that of take, and then of each policy what is left of the ban
--           in ms, 0 for none, and whether this call has begun it (1 or 0)
--
-- While a client is banned no request is counted, and the reply tells what the
-- window says all the same: the caller adds the ban. A policy that rejects a
-- request begins a ban: also one in dry run, which has a key of its own for it.
-- What a policy would reject only if more requests were admitted, is no
-- rejection.
--
-- The value of a ban is the time of its end and its length in ms, of 7 bytes
-- each, in the arithmetic of sw_ban.h. It lives for as long as the next ban has
-- to know of it.

local bans, KEYS = KEYS, {}

for i = 1, #bans / 2 do
    KEYS[i] = bans[i]
end

-- include take.lua
