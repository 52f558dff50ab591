-- Included by the takes: the slots of a strict value, brought to the time, and
-- their total. text is a value of this window with n slices and the index old,
-- or nil: then total units begin now. size is n + 1, numbers the format of as
-- many slots; kept tells that text is the value as it was read.

local slots

if text then
    slots = { struct.unpack(numbers, text, 13) }
    same = kept and index == old

    for j = old + 1, math.min(index, old + size) do
        slots[j % size + 1] = 0
    end
    total = 0
    for j = 1, size do
        total = total + slots[j]
    end
    if index < old then
        time, index = floor((old * w + n - 1) / n), old
    end
else
    slots = {}
    for j = 1, size do
        slots[j] = 0
    end
    slots[index % size + 1] = total
end
