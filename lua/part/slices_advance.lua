-- Included by the takes: slices, the units of each slice of a strict state,
-- brought to the time, and their total. text is a state of this window with n
-- slices and old_index, or nil: then total units begin now. size is n + 1, with
-- the slice that is leaving, and format that of as many numbers; as_stored
-- tells that text is the value as it was read.

local slices

if text then
    slices = { struct.unpack(format, text, 13) }
    keep_ttl = as_stored and index == old_index

    for j = old_index + 1, math.min(index, old_index + size) do
        slices[j % size + 1] = 0
    end
    total = 0
    for j = 1, size do
        total = total + slices[j]
    end
    if index < old_index then
        time, index = floor((old_index * w + n - 1) / n), old_index
    end
else
    slices = {}
    for j = 1, size do
        slices[j] = 0
    end
    slices[index % size + 1] = total
end
