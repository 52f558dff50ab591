-- Included by the takes, where there are key, text and its size, now, w, call
-- and unpack.
--
-- Reads a log without a function or a table, if the log is of this window, and
-- is short or no entry has left: total is then the units in the window, else
-- nil. base is the sum before the window; oldest and sum are the time and sum
-- of its first entry, which is at from; newest and last those of its last
-- entry. renew tells that the time to live is to be set anew. If all entries
-- have left, size is 0.
--
-- A byte that becomes a string costs Redis 11 instructions, an operation of Lua
-- 45, a number unpacked 270, a function made 900, a table of 16 fields 5,000.

local total, base, oldest, sum, newest, last, from, renew

if size >= 29 then
    local head, renewed

    head, renewed, base, oldest, sum = unpack('<I5I6I6I6I6', text)

    -- the letter l and the window

    local same_window = head == 108 + 256 * w

    if same_window and size < 1024 then
        newest, last = unpack('<I6I6', text, size - 11)
    elseif same_window then
        size = call('STRLEN', key)
        newest, last = unpack('<I6I6', call('GETRANGE', key, '-12', '-1'))
    end

    if same_window and size % 12 == 5 and now >= newest then
        total = last - base

        if now >= oldest + w or now >= renewed + w / 2 then
            from, renew = 18, now >= renewed + w / 2

            if now >= newest + w then
                total = 0

            elseif size > 1000 or base >= 2 ^ 47 then
                total = nil

            elseif now >= oldest + w then
                local low, high = 1, (size - 17) / 12

                while high - low > 1 do
                    local middle = (low + high) / 2

                    middle = middle - middle % 1
                    if now >= unpack('<I6', text, 12 * middle + 6) + w then
                        low = middle
                    else
                        high = middle
                    end
                end

                base, oldest, sum = unpack('<I6I6I6', text, 12 * low + 12)
                total, from = last - base, 12 * high + 6
            end
        end

        if total == 0 then
            total, size = nil, 0
        end
    end
end
