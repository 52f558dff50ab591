
#include <stdio.h>

#include "replay_time.h"


#define REPLAY_DAY_MS  86400000LL

/* a whole number above is of milliseconds: seconds until the year 5138 */
#define REPLAY_SECONDS_MAX  100000000000LL


static int64_t replay_time_local(replay_text_t text);
static int64_t replay_time_iso(replay_text_t text);
static int64_t replay_time_epoch(replay_text_t text);
static int64_t replay_time_zone(const char *p, size_t len);
static int64_t replay_time_make(int64_t year, int64_t month, int64_t day,
    const char *clock);
static int64_t replay_month_days(int64_t year, int64_t month);
static int64_t replay_days(int64_t year, int64_t month, int64_t day);
static int64_t replay_digits(const char *p, size_t n);


static const char  replay_months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";


int64_t
replay_time_parse(replay_text_t text)
{
    if (text.len >= 20 && text.data[2] == '/') {
        return replay_time_local(text);
    }

    if (text.len >= 19 && text.data[4] == '-') {
        return replay_time_iso(text);
    }

    return replay_time_epoch(text);
}


int
replay_time_is_fine(replay_text_t text)
{
    if (text.len >= 20 && text.data[2] == '/') {
        return 0;
    }

    if (memchr(text.data, '.', text.len)) {
        return 1;
    }

    return text.len > 11 && text.len <= 15
           && replay_digits(text.data, text.len) >= 0;
}


/* 17/May/2015:10:05:03 +0000 */

static int64_t
replay_time_local(replay_text_t text)
{
    int64_t      time, zone;
    size_t       month;
    const char  *p;

    p = text.data;

    if (p[6] != '/' || p[11] != ':') {
        return REPLAY_TIME_BAD;
    }

    for (month = 0; month < 12; month++) {

        if (memcmp(p + 3, replay_months + 3 * month, 3) == 0) {
            break;
        }
    }

    time = replay_time_make(replay_digits(p + 7, 4), (int64_t) month + 1,
                            replay_digits(p, 2), p + 12);

    if (time == REPLAY_TIME_BAD || text.len == 20) {
        return time;
    }

    zone = (p[20] == ' ') ? replay_time_zone(p + 21, text.len - 21)
                          : REPLAY_TIME_BAD;

    return (zone == REPLAY_TIME_BAD) ? zone : time - zone;
}


static int64_t
replay_time_iso(replay_text_t text)
{
    int64_t      time, zone, part;
    size_t       len;
    const char  *p;

    p = text.data;

    if (p[7] != '-' || (p[10] != 'T' && p[10] != ' ' && p[10] != 't')) {
        return REPLAY_TIME_BAD;
    }

    time = replay_time_make(replay_digits(p, 4), replay_digits(p + 5, 2),
                            replay_digits(p + 8, 2), p + 11);

    if (time == REPLAY_TIME_BAD) {
        return time;
    }

    p += 19;
    len = text.len - 19;

    if (len && (*p == '.' || *p == ',')) {

        if (len == 1 || p[1] < '0' || p[1] > '9') {
            return REPLAY_TIME_BAD;
        }

        p++;
        len--;

        for (part = 100; len && *p >= '0' && *p <= '9'; part /= 10) {
            time += part * (*p - '0');
            p++;
            len--;
        }
    }

    if (len && *p == ' ') {
        p++;
        len--;
    }

    if (len == 0 || (len == 1 && (*p == 'Z' || *p == 'z'))) {
        return time;
    }

    zone = replay_time_zone(p, len);

    return (zone == REPLAY_TIME_BAD) ? zone : time - zone;
}


static int64_t
replay_time_epoch(replay_text_t text)
{
    int64_t      seconds;
    const char  *point;

    point = text.len ? memchr(text.data, '.', text.len) : NULL;

    if (point == NULL) {

        if (text.len > 15) {
            return REPLAY_TIME_BAD;
        }

        seconds = replay_digits(text.data, text.len);

        if (seconds < 0) {
            return REPLAY_TIME_BAD;
        }

        return seconds > REPLAY_SECONDS_MAX ? seconds : seconds * 1000;
    }

    return replay_time_seconds(text);
}


int64_t
replay_time_seconds(replay_text_t text)
{
    int64_t      ms, part;
    size_t       whole, i;
    const char  *point;

    point = text.len ? memchr(text.data, '.', text.len) : NULL;
    whole = point ? (size_t) (point - text.data) : text.len;

    if (whole > 11) {
        return REPLAY_TIME_BAD;
    }

    ms = replay_digits(text.data, whole);

    if (ms < 0) {
        return REPLAY_TIME_BAD;
    }

    ms *= 1000;
    part = 100;

    for (i = whole + 1; i < text.len; i++) {

        if (text.data[i] < '0' || text.data[i] > '9') {
            return REPLAY_TIME_BAD;
        }

        ms += part * (text.data[i] - '0');
        part /= 10;
    }

    return ms;
}


/* +0200, +02:00, +02 */

static int64_t
replay_time_zone(const char *p, size_t len)
{
    int64_t  hours, minutes, zone;

    if (len < 3 || (*p != '+' && *p != '-')) {
        return REPLAY_TIME_BAD;
    }

    hours = replay_digits(p + 1, 2);
    minutes = 0;

    if (len == 5) {
        minutes = replay_digits(p + 3, 2);

    } else if (len == 6 && p[3] == ':') {
        minutes = replay_digits(p + 4, 2);

    } else if (len != 3) {
        return REPLAY_TIME_BAD;
    }

    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) {
        return REPLAY_TIME_BAD;
    }

    zone = (hours * 60 + minutes) * 60000;

    return *p == '-' ? -zone : zone;
}


/* clock is hh:mm:ss */

static int64_t
replay_time_make(int64_t year, int64_t month, int64_t day, const char *clock)
{
    int64_t  hours, minutes, seconds;

    hours = replay_digits(clock, 2);
    minutes = replay_digits(clock + 3, 2);
    seconds = replay_digits(clock + 6, 2);

    /* a leap second is the next one */

    if (year < 1970 || month < 1 || month > 12 || day < 1
        || day > replay_month_days(year, month)
        || hours < 0 || hours > 23 || clock[2] != ':'
        || minutes < 0 || minutes > 59 || clock[5] != ':'
        || seconds < 0 || seconds > 60)
    {
        return REPLAY_TIME_BAD;
    }

    return replay_days(year, month, day) * REPLAY_DAY_MS
           + ((hours * 60 + minutes) * 60 + seconds) * 1000;
}


static int64_t
replay_month_days(int64_t year, int64_t month)
{
    static const uint8_t  days[] = {
        31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31
    };

    return days[month - 1]
           + (month == 2 && year % 4 == 0
              && (year % 100 != 0 || year % 400 == 0));
}


/* days since 1970: years begin with March, so that leap days end them */

static int64_t
replay_days(int64_t year, int64_t month, int64_t day)
{
    if (month < 3) {
        month += 12;
        year--;
    }

    return year * 365 + year / 4 - year / 100 + year / 400
           + (month * 306 - 914) / 10 + day - 719469;
}


/* -1 if there is anything else */

static int64_t
replay_digits(const char *p, size_t n)
{
    int64_t  value;

    if (n == 0) {
        return -1;
    }

    value = 0;

    for ( /* void */ ; n; n--, p++) {

        if (*p < '0' || *p > '9') {
            return -1;
        }

        value = value * 10 + (*p - '0');
    }

    return value;
}


const char *
replay_time_text(char buf[REPLAY_TIME_LEN], int64_t ms, int fine)
{
    int64_t  days, rest, year, month, day;

    days = ms / REPLAY_DAY_MS;
    rest = ms % REPLAY_DAY_MS;

    if (rest < 0) {
        rest += REPLAY_DAY_MS;
        days--;
    }

    for (year = 1970 + days / 366; replay_days(year + 1, 1, 1) <= days; ) {
        year++;
    }

    for (month = 1; month < 12 && replay_days(year, month + 1, 1) <= days; ) {
        month++;
    }

    day = days - replay_days(year, month, 1) + 1;

    (void) snprintf(buf, REPLAY_TIME_LEN,
                    fine ? "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ"
                         : "%04u-%02u-%02uT%02u:%02u:%02uZ",
                    (unsigned) year % 10000, (unsigned) month % 100,
                    (unsigned) day % 100, (unsigned) (rest / 3600000) % 100,
                    (unsigned) (rest / 60000 % 60),
                    (unsigned) (rest / 1000 % 60), (unsigned) (rest % 1000));

    return buf;
}
