-- Included by take.lua for take_ban, where p is the plan of policy i, and counted
-- and dry_counts tell how many requests the windows so far admit.
--
-- If the clock was set back a ban ends after its length at the latest.

local length, longest, begins = unpack('<I7I7I7', ARGV[2], 21 * i - 20)
local text = length > 0 and call('GET', bans[#KEYS + i])
local ends, last, moved = 0, 0, false

if text then
    if #text ~= 14 then
        return foreign()
    end

    ends, last = unpack('<I7I7', text)

    if ends > now + last then
        ends, moved = now + last, last > 0
    end
    if ends > now and dry == 0 then
        counted = 0
    elseif ends > now then
        dry_counts = false
    end
end

p.ban = { length, longest, begins, ends, last, moved }
