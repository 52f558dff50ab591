-- Included by the takes where a value of this kind and window has index old and
-- the units was (previous) and is (current): brings it to the time.

if index == old then
    prev, curr, same = was, is, true
elseif index == old + 1 then
    prev = is
elseif index < old then
    time, index, prev, curr = old * w, old, was, is
end
