-- Included by the takes where a value of this kind and window has old_index,
-- old_prev and old_curr: brings it to the time.

if index == old_index then
    prev, curr, keep_ttl = old_prev, old_curr, true
elseif index == old_index + 1 then
    prev = old_curr
elseif index < old_index then
    time, index, prev, curr = old_index * w, old_index, old_prev, old_curr
end
