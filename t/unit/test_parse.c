
/*
 * The parsers: what they take, what they refuse, and that they read only what
 * they were given and write only what they took.
 */


#include <inttypes.h>
#include <string.h>

#include "sw_parse.h"
#include "sw_window.h"
#include "tap.h"


#define REFUSED     -2
#define UNTOUCHED   0x5a5a5a5a5a5a5a5aLL

#define text(s)     s, sizeof(s) - 1


typedef int (*parser_pt)(const char *text, size_t len, int64_t *one,
    int64_t *two);


typedef struct {
    const char  *text;
    size_t       len;
    int64_t      one;
    int64_t      two;
} case_t;


static int parse_count(const char *text, size_t len, int64_t *one,
    int64_t *two);
static int parse_cost(const char *text, size_t len, int64_t *one,
    int64_t *two);
static int parse_charge(const char *text, size_t len, int64_t *one,
    int64_t *two);
static int parse_period(const char *text, size_t len, int64_t *one,
    int64_t *two);
static int parse_rate(const char *text, size_t len, int64_t *one,
    int64_t *two);
static int parse_percent(const char *text, size_t len, int64_t *one,
    int64_t *two);
static int parse_ban(const char *text, size_t len, int64_t *one,
    int64_t *two);

static void run(const char *name, parser_pt parser, const case_t *cases,
    size_t n);
static int one_case(parser_pt parser, const case_t *c);
static void show(char *buf, size_t size, const case_t *c);

static void counts_up_to_any_max(void);
static void rates_up_to_the_bound(void);
static void errors_of_rates(void);
static void max_of_bans(void);


static const case_t  counts[] = {
    { text("0"), 0, 0 },
    { text("1"), 1, 0 },
    { text("9"), 9, 0 },
    { text("10"), 10, 0 },
    { text("007"), 7, 0 },
    { text("00000000000000000000000000000000000000005"), 5, 0 },
    { text("000000"), 0, 0 },
    { text("9007199254740991"), 9007199254740991, 0 },
    { text("9007199254740992"), REFUSED, 0 },
    { text("9007199254740990"), 9007199254740990, 0 },
    { text("9223372036854775807"), REFUSED, 0 },
    { text("9223372036854775808"), REFUSED, 0 },
    { text("18446744073709551616"), REFUSED, 0 },
    { text("18446744073709551617"), REFUSED, 0 },
    { text("99999999999999999999"), REFUSED, 0 },
    { text("340282366920938463463374607431768211457"), REFUSED, 0 },
    { text(""), REFUSED, 0 },
    { text("-1"), REFUSED, 0 },
    { text("+1"), REFUSED, 0 },
    { text(" 1"), REFUSED, 0 },
    { text("1 "), REFUSED, 0 },
    { text("1\n"), REFUSED, 0 },
    { text("1\0"), REFUSED, 0 },
    { text("\0"), REFUSED, 0 },
    { text("\0" "1"), REFUSED, 0 },
    { text("1\0" "2"), REFUSED, 0 },
    { text("0x1"), REFUSED, 0 },
    { text("1e9"), REFUSED, 0 },
    { text("1.5"), REFUSED, 0 },
    { text("1,000"), REFUSED, 0 },
    { text("abc"), REFUSED, 0 },
    { text("1k"), REFUSED, 0 },
    { text("/"), REFUSED, 0 },
    { text(":"), REFUSED, 0 },
    { text("\xff"), REFUSED, 0 },
    { text("\xb1"), REFUSED, 0 },
    { text("\xef\xbc\x91"), REFUSED, 0 },
    { text("1\xc2\xa0"), REFUSED, 0 },
};


static const case_t  costs[] = {
    { text("0"), 0, 0 },
    { text("1"), 1, 0 },
    { text("007"), 7, 0 },
    { text("9007199254740991"), 9007199254740991, 0 },
    { text("9007199254740992"), SW_COST_NEVER, 0 },
    { text("9223372036854775808"), SW_COST_NEVER, 0 },
    { text("18446744073709551617"), SW_COST_NEVER, 0 },
    { text("99999999999999999999"), SW_COST_NEVER, 0 },
    { text("340282366920938463463374607431768211457"), SW_COST_NEVER, 0 },
    { text("00000000000000000000000000000000000000005"), 5, 0 },
    { text(""), REFUSED, 0 },
    { text("-1"), REFUSED, 0 },
    { text("-99999999999999999999"), REFUSED, 0 },
    { text("+100"), REFUSED, 0 },
    { text("%31%30%30"), REFUSED, 0 },
    { text("1e9"), REFUSED, 0 },
    { text("abc"), REFUSED, 0 },
    { text("1.5"), REFUSED, 0 },
    { text(" 1"), REFUSED, 0 },
    { text("1 "), REFUSED, 0 },
    { text("1\0"), REFUSED, 0 },
    { text("99999999999999999999x"), REFUSED, 0 },
};


static const case_t  charges[] = {
    { text("0"), 0, 0 },
    { text("7"), 7, 0 },
    { text("007"), 7, 0 },
    { text("0.123"), 1, 0 },
    { text("0.000"), 0, 0 },
    { text("12.0"), 12, 0 },
    { text("12.000000000000000000000000000001"), 13, 0 },
    { text("0.1, 0.2"), 2, 0 },
    { text("0.004, 0.000 : 1.500"), 3, 0 },
    { text("1,2,3"), 6, 0 },
    { text("1:2"), 3, 0 },
    { text(" 5\t"), 5, 0 },
    { text("-, 5"), 5, 0 },
    { text("5 : -"), 5, 0 },
    { text("5,"), 5, 0 },
    { text(",5"), 5, 0 },
    { text("5,,6"), 11, 0 },
    { text(""), SW_COST_NONE, 0 },
    { text("-"), SW_COST_NONE, 0 },
    { text(" - , -:"), SW_COST_NONE, 0 },
    { text(","), SW_COST_NONE, 0 },
    { text("9007199254740991"), 9007199254740991, 0 },
    { text("9007199254740991.5"), SW_COST_NEVER, 0 },
    { text("9007199254740992.5"), SW_COST_NEVER, 0 },
    { text("99999999999999999999"), SW_COST_NEVER, 0 },
    { text("99999999999999999999,99999999999999999999"), SW_COST_NEVER, 0 },
    { text("9007199254740991,1"), SW_COST_NEVER, 0 },
    { text("-1"), REFUSED, 0 },
    { text("--"), REFUSED, 0 },
    { text("+1"), REFUSED, 0 },
    { text(".5"), REFUSED, 0 },
    { text("5."), REFUSED, 0 },
    { text("."), REFUSED, 0 },
    { text("1.2.3"), REFUSED, 0 },
    { text("1.-2"), REFUSED, 0 },
    { text("1e3"), REFUSED, 0 },
    { text("0x1f"), REFUSED, 0 },
    { text("1 2"), REFUSED, 0 },
    { text("1;2"), REFUSED, 0 },
    { text("1, x"), REFUSED, 0 },
    { text("x, 1"), REFUSED, 0 },
    { text("many"), REFUSED, 0 },
    { text("1\n"), REFUSED, 0 },
    { text("1\0"), REFUSED, 0 },
    { text("\0"), REFUSED, 0 },
    { text("\xef\xbc\x91"), REFUSED, 0 },
};


static const case_t  periods[] = {
    { text("ms"), 1, 0 },
    { text("s"), 1000, 0 },
    { text("m"), 60000, 0 },
    { text("h"), 3600000, 0 },
    { text("d"), 86400000, 0 },
    { text("w"), 604800000, 0 },
    { text("1ms"), 1, 0 },
    { text("500ms"), 500, 0 },
    { text("10s"), 10000, 0 },
    { text("010s"), 10000, 0 },
    { text("90m"), 5400000, 0 },
    { text("24h"), 86400000, 0 },
    { text("30d"), 2592000000, 0 },
    { text("4w"), 2419200000, 0 },

    /* below 2^32 ms */

    { text("4294967295ms"), 4294967295, 0 },
    { text("4294967296ms"), REFUSED, 0 },
    { text("4294967s"), 4294967000, 0 },
    { text("4294968s"), REFUSED, 0 },
    { text("71582m"), 4294920000, 0 },
    { text("71583m"), REFUSED, 0 },
    { text("1193h"), 4294800000, 0 },
    { text("1194h"), REFUSED, 0 },
    { text("49d"), 4233600000, 0 },
    { text("50d"), REFUSED, 0 },
    { text("7w"), 4233600000, 0 },
    { text("8w"), REFUSED, 0 },
    { text("9w"), REFUSED, 0 },
    { text("10w"), REFUSED, 0 },
    { text("9223372036854775807ms"), REFUSED, 0 },
    { text("18446744073709551617s"), REFUSED, 0 },
    { text("30500568904943w"), REFUSED, 0 },
    { text("99999999999999999999999999s"), REFUSED, 0 },

    { text("0s"), REFUSED, 0 },
    { text("0ms"), REFUSED, 0 },
    { text("000w"), REFUSED, 0 },
    { text(""), REFUSED, 0 },
    { text("1"), REFUSED, 0 },
    { text("60"), REFUSED, 0 },
    { text("x"), REFUSED, 0 },
    { text("5x"), REFUSED, 0 },
    { text("S"), REFUSED, 0 },
    { text("M"), REFUSED, 0 },
    { text("1M"), REFUSED, 0 },
    { text("1y"), REFUSED, 0 },
    { text("1us"), REFUSED, 0 },
    { text("1mss"), REFUSED, 0 },
    { text("1sec"), REFUSED, 0 },
    { text("1min"), REFUSED, 0 },
    { text("1h30m"), REFUSED, 0 },
    { text("1 s"), REFUSED, 0 },
    { text(" 1s"), REFUSED, 0 },
    { text("1s "), REFUSED, 0 },
    { text("-1s"), REFUSED, 0 },
    { text("+1s"), REFUSED, 0 },
    { text("1.5s"), REFUSED, 0 },
    { text("1s\0"), REFUSED, 0 },
    { text("1\0s"), REFUSED, 0 },
    { text("\0s"), REFUSED, 0 },
    { text("m\0"), REFUSED, 0 },
    { text("m\0s"), REFUSED, 0 },
    { text("sm"), REFUSED, 0 },
    { text("s1"), REFUSED, 0 },
};


static const case_t  rates[] = {
    { text("5r/m"), 5, 60000 },
    { text("100r/10s"), 100, 10000 },
    { text("1000r/h"), 1000, 3600000 },
    { text("1r/500ms"), 1, 500 },
    { text("1r/s"), 1, 1000 },
    { text("1r/ms"), 1, 1 },
    { text("50r/d"), 50, 86400000 },
    { text("50r/w"), 50, 604800000 },
    { text("005r/01m"), 5, 60000 },
    { text("9007199254740991r/ms"), 9007199254740991, 1 },
    { text("2097152r/4294967295ms"), 2097152, 4294967295 },

    /* G05 */

    { text("0r/s"), REFUSED, 0 },
    { text("-1r/s"), REFUSED, 0 },
    { text("5r/x"), REFUSED, 0 },
    { text("5"), REFUSED, 0 },
    { text("r/s"), REFUSED, 0 },
    { text("99999999999999999999r/s"), REFUSED, 0 },

    { text(""), REFUSED, 0 },
    { text("r"), REFUSED, 0 },
    { text("/"), REFUSED, 0 },
    { text("r/"), REFUSED, 0 },
    { text("5r"), REFUSED, 0 },
    { text("5r/"), REFUSED, 0 },
    { text("5/s"), REFUSED, 0 },
    { text("5r/5"), REFUSED, 0 },
    { text("5r/0s"), REFUSED, 0 },
    { text("5r/-1s"), REFUSED, 0 },
    { text("5r/1h30m"), REFUSED, 0 },
    { text("5r/50d"), REFUSED, 0 },
    { text("5r/8w"), REFUSED, 0 },
    { text("000r/s"), REFUSED, 0 },
    { text("5r//s"), REFUSED, 0 },
    { text("5r/s/s"), REFUSED, 0 },
    { text("5r/s/"), REFUSED, 0 },
    { text("/5r/s"), REFUSED, 0 },
    { text("5rr/s"), REFUSED, 0 },
    { text("5R/s"), REFUSED, 0 },
    { text("5r/S"), REFUSED, 0 },
    { text("5q/s"), REFUSED, 0 },
    { text("5 r/s"), REFUSED, 0 },
    { text("5r /s"), REFUSED, 0 },
    { text("5r/ s"), REFUSED, 0 },
    { text(" 5r/s"), REFUSED, 0 },
    { text("5r/s "), REFUSED, 0 },
    { text("+5r/s"), REFUSED, 0 },
    { text("5.5r/s"), REFUSED, 0 },
    { text("1e3r/s"), REFUSED, 0 },
    { text("0x5r/s"), REFUSED, 0 },
    { text("5r/s\0"), REFUSED, 0 },
    { text("5\0r/s"), REFUSED, 0 },
    { text("5r\0/s"), REFUSED, 0 },
    { text("5r/\0s"), REFUSED, 0 },
    { text("\0" "5r/s"), REFUSED, 0 },
    { text("5r/s\0garbage"), REFUSED, 0 },
    { text("9223372036854775808r/s"), REFUSED, 0 },
    { text("18446744073709551621r/s"), REFUSED, 0 },
    { text("5r/18446744073709551617ms"), REFUSED, 0 },
    { text("rate=5r/s"), REFUSED, 0 },
    { text("$rate"), REFUSED, 0 },
};


static const case_t  percents[] = {
    { text("1%"), 1, 0 },
    { text("10%"), 10, 0 },
    { text("99%"), 99, 0 },
    { text("100%"), 100, 0 },
    { text("010%"), 10, 0 },
    { text("0%"), REFUSED, 0 },
    { text("000%"), REFUSED, 0 },
    { text("101%"), REFUSED, 0 },
    { text("109%"), REFUSED, 0 },
    { text("1000%"), REFUSED, 0 },
    { text("18446744073709551617%"), REFUSED, 0 },
    { text("%"), REFUSED, 0 },
    { text(""), REFUSED, 0 },
    { text("5"), REFUSED, 0 },
    { text("5%%"), REFUSED, 0 },
    { text("%5"), REFUSED, 0 },
    { text("5 %"), REFUSED, 0 },
    { text(" 5%"), REFUSED, 0 },
    { text("5% "), REFUSED, 0 },
    { text("-5%"), REFUSED, 0 },
    { text("+5%"), REFUSED, 0 },
    { text("5.5%"), REFUSED, 0 },
    { text("5%\0"), REFUSED, 0 },
    { text("5\0%"), REFUSED, 0 },
    { text("\0%"), REFUSED, 0 },
    { text("a%"), REFUSED, 0 },
};


static const case_t  bans[] = {
    { text("10m"), 600000, 0 },
    { text("s"), 1000, 0 },
    { text("1ms"), 1, 0 },
    { text("1m..1d"), 60000, 86400000 },
    { text("m..d"), 60000, 86400000 },
    { text("60s..1m"), 60000, 60000 },
    { text("1ms..4294967295ms"), 1, 4294967295 },
    { text("4294967295ms..4294967295ms"), 4294967295, 4294967295 },

    { text(""), REFUSED, 0 },
    { text("0s"), REFUSED, 0 },
    { text("4294967296ms"), REFUSED, 0 },
    { text("10"), REFUSED, 0 },
    { text("on"), REFUSED, 0 },
    { text("off"), REFUSED, 0 },
    { text("$ban"), REFUSED, 0 },
    { text("2m..1m"), REFUSED, 0 },
    { text("61s..1m"), REFUSED, 0 },
    { text("1m..0d"), REFUSED, 0 },
    { text("1m..50d"), REFUSED, 0 },
    { text("1m."), REFUSED, 0 },
    { text("1m.."), REFUSED, 0 },
    { text("1m..."), REFUSED, 0 },
    { text("1m.1d"), REFUSED, 0 },
    { text("1m...1d"), REFUSED, 0 },
    { text("1m..1d.."), REFUSED, 0 },
    { text("1m..1h..1d"), REFUSED, 0 },
    { text("1m..1d "), REFUSED, 0 },
    { text("1m ..1d"), REFUSED, 0 },
    { text("1m.. 1d"), REFUSED, 0 },
    { text("1m-1d"), REFUSED, 0 },
    { text("1m,1d"), REFUSED, 0 },
    { text("1m..1"), REFUSED, 0 },
    { text("1..1d"), REFUSED, 0 },
    { text("..1d"), REFUSED, 0 },
    { text(".."), REFUSED, 0 },
    { text("."), REFUSED, 0 },
    { text("1m..1d\0"), REFUSED, 0 },
    { text("1m\0..1d"), REFUSED, 0 },
};


int
main(void)
{
#define RUN(name, parser, cases)                                             \
    run(name, parser, cases, sizeof(cases) / sizeof(cases[0]))

    RUN("count", parse_count, counts);
    RUN("cost", parse_cost, costs);
    RUN("charge", parse_charge, charges);
    RUN("period", parse_period, periods);
    RUN("rate", parse_rate, rates);
    RUN("percent", parse_percent, percents);
    RUN("ban", parse_ban, bans);
    max_of_bans();

    counts_up_to_any_max();
    rates_up_to_the_bound();
    errors_of_rates();

    return tap_done();
}


static int
parse_count(const char *text, size_t len, int64_t *one, int64_t *two)
{
    (void) two;

    return sw_parse_count(text, len, SW_PRODUCT_MAX, one);
}


static int
parse_cost(const char *text, size_t len, int64_t *one, int64_t *two)
{
    (void) two;

    return sw_parse_cost(text, len, one);
}


static int
parse_charge(const char *text, size_t len, int64_t *one, int64_t *two)
{
    (void) two;

    return sw_parse_charge(text, len, one);
}


static int
parse_period(const char *text, size_t len, int64_t *one, int64_t *two)
{
    (void) two;

    return sw_parse_period(text, len, one);
}


static int
parse_rate(const char *text, size_t len, int64_t *one, int64_t *two)
{
    return sw_parse_rate(text, len, one, two);
}


static int
parse_percent(const char *text, size_t len, int64_t *one, int64_t *two)
{
    (void) two;

    return sw_parse_percent(text, len, one);
}


static int
parse_ban(const char *text, size_t len, int64_t *one, int64_t *two)
{
    return sw_parse_ban(text, len, one, two);
}


static void
run(const char *name, parser_pt parser, const case_t *cases, size_t n)
{
    char    buf[256];
    size_t  i;

    for (i = 0; i < n; i++) {
        show(buf, sizeof(buf), &cases[i]);

        tap_ok(one_case(parser, &cases[i]), "%s \"%s\" is %s", name, buf,
               cases[i].one == REFUSED ? "refused" : "taken");
    }
}


static int
one_case(parser_pt parser, const case_t *c)
{
    int      rc, good;
    char    *copy;
    int64_t  one, two;

    good = 1;

    /* nothing but the text, where a sanitizer sees what is read beyond it */

    copy = malloc(c->len ? c->len : 1);

    if (copy == NULL) {
        return 0;
    }

    memcpy(copy, c->text, c->len);

    one = UNTOUCHED;
    two = UNTOUCHED;

    rc = parser(copy + (c->len ? 0 : 1), c->len, &one, &two);

    if (c->one == REFUSED) {
        good = (rc == SW_ERROR && one == UNTOUCHED && two == UNTOUCHED);

    } else {
        good = (rc == SW_OK && one == c->one);

        if (c->two) {
            good = good && two == c->two;
        }
    }

    if (!good) {
        tap_diag("rc %d, %" PRId64 ", %" PRId64, rc, one, two);
    }

    free(copy);

    return good;
}


static void
show(char *buf, size_t size, const case_t *c)
{
    size_t  i, len;

    len = 0;
    buf[0] = '\0';

    for (i = 0; i < c->len && len < size - 8; i++) {

        if (c->text[i] >= ' ' && c->text[i] <= '~' && c->text[i] != '#') {
            buf[len++] = c->text[i];
            buf[len] = '\0';

        } else {
            len += (size_t) snprintf(buf + len, size - len, "<%02x>",
                                     (unsigned char) c->text[i]);
        }
    }
}


/* the numbers around a maximum, for every kind of maximum */

static void
counts_up_to_any_max(void)
{
    int       i, rc, good, len;
    char      buf[32];
    int64_t   max, value, count;

    static const int64_t  maxima[] = {
        99, 100, 101, 109, 110, 255, 999, 1000, 4095, SW_WINDOW_MAX,
        SW_PRODUCT_MAX, INT64_MAX - 10, INT64_MAX - 1, INT64_MAX
    };

    good = 1;

    for (max = 0; max <= 40; max++) {

        for (value = 0; value <= 500; value++) {
            len = snprintf(buf, sizeof(buf), "%" PRId64, value);
            count = UNTOUCHED;
            rc = sw_parse_count(buf, (size_t) len, max, &count);

            if (rc != (value <= max ? SW_OK : SW_ERROR)
                || count != (value <= max ? value : UNTOUCHED))
            {
                good = 0;
                tap_diag("\"%s\", at most %" PRId64 ": rc %d, %" PRId64, buf,
                         max, rc, count);
                break;
            }
        }
    }

    tap_ok(good, "count: nothing above a small maximum, all up to it");

    good = 1;

    for (i = 0; i < (int) (sizeof(maxima) / sizeof(maxima[0])); i++) {
        max = maxima[i];

        for (value = -12; value <= 12; value++) {

            /* beyond INT64_MAX as text too */

            len = snprintf(buf, sizeof(buf), "%" PRIu64,
                           (uint64_t) max + (uint64_t) value);
            count = UNTOUCHED;
            rc = sw_parse_count(buf, (size_t) len, max, &count);

            if (rc != (value <= 0 ? SW_OK : SW_ERROR)
                || count != (value <= 0 ? max + value : UNTOUCHED))
            {
                good = 0;
                tap_diag("\"%s\", at most %" PRId64 ": rc %d, %" PRId64, buf,
                         max, rc, count);
            }
        }
    }

    tap_ok(good, "count: nothing above a large maximum, all up to it");
}


/* what the parser takes and the rule cannot count is refused by it */

static void
rates_up_to_the_bound(void)
{
    int        i;
    sw_rule_t  rule;

    static const struct {
        const char  *rate;
        int          good;
    } bounds[] = {
        { "9007199254740991r/ms", 1 },
        { "9007199254740992r/ms", 0 },
        { "9007199254740r/s", 1 },
        { "9007199254741r/s", 0 },
        { "150119987579r/m", 1 },
        { "150119987580r/m", 0 },
        { "129728784761r/69431ms", 1 },
        { "129728784762r/69431ms", 0 },
        { "2127550r/49d", 1 },
        { "2127551r/49d", 0 },
        { "2097152r/4294967295ms", 1 },
        { "2097153r/4294967295ms", 0 },
    };

    for (i = 0; i < (int) (sizeof(bounds) / sizeof(bounds[0])); i++) {
        rule.algorithm = SW_COUNTER;
        rule.slices = 0;

        tap_ok((sw_parse_rate(bounds[i].rate, strlen(bounds[i].rate),
                              &rule.limit, &rule.window)
                == SW_OK
                && sw_rule_error(&rule) == NULL)
               == bounds[i].good,
               "rate %s %s", bounds[i].rate,
               bounds[i].good ? "can be counted" : "is beyond 2^53");
    }
}


/* each says what is wrong with it, by its first words */

static void
errors_of_rates(void)
{
    size_t       i;
    const char  *error;

    static const struct {
        const char  *text;
        size_t       len;
        const char  *error;
    } cases[] = {
        { text("0r/s"), "the count must be at least 1" },
        { text("000r/10s"), "the count must be at least 1" },
        { text("1.5r/s"), "the count must be a whole number" },
        { text("0.5r/s"), "the count must be a whole number" },
        { text(".5r/s"), "the count must be a whole number" },
        { text("5.r/s"), "the count must be a whole number" },
        { text("1.5.5r/s"), "it must be" },
        { text("1.5"), "it must be" },
        { text("1."), "it must be" },
        { text("."), "it must be" },
        { text(""), "it must be" },
        { text("0"), "it must be" },
        { text("0r"), "it must be" },
        { text("r/s"), "it must be" },
        { text("-1r/s"), "it must be" },
        { text("5r/x"), "it must be" },
        { text("99999999999999999999r/s"), "it must be" },
    };

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        error = sw_rate_error(cases[i].text, cases[i].len);

        tap_ok(strncmp(error, cases[i].error, strlen(cases[i].error)) == 0,
               "rate \"%s\": %s", cases[i].text, error);
    }
}


static void
max_of_bans(void)
{
    int64_t  time, max;

    max = UNTOUCHED;

    tap_ok(sw_parse_ban("10m", 3, &time, &max) == SW_OK && max == 0,
           "a ban without a longest one has none");
}
