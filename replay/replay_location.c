
#include "replay_location.h"


/* what a level of locations says about a URI, as nginx's own functions do */

typedef enum {
    REPLAY_LOCATION_NONE = 0,
    REPLAY_LOCATION_MAYBE,                   /* a prefix: look further */
    REPLAY_LOCATION_FOUND,
    REPLAY_LOCATION_REDIRECT
} replay_location_rc_e;


static const char *replay_location_parse(replay_pool_t *pool,
    replay_location_t *location, const replay_text_t *args, size_t nargs);
static const char *replay_location_check(replay_pool_t *pool,
    const replay_location_t *parent, const replay_location_t *location);
static replay_location_rc_e replay_location_look(
    const replay_location_t **found, replay_text_t uri);
static replay_location_rc_e replay_location_look_static(
    const replay_location_t **found, replay_text_t uri);
static int replay_location_is_static(const replay_location_t *location);


void
replay_location_init(replay_location_t *location)
{
    memset(location, 0, sizeof(replay_location_t));

    location->name = replay_text_of("");
    location->last = &location->locations;
}


replay_location_t *
replay_location_add(replay_pool_t *pool, replay_location_t *parent,
    const replay_text_t *args, size_t nargs, const char **error)
{
    replay_location_t  *location;

    location = replay_pool_alloc(pool, sizeof(replay_location_t));
    replay_location_init(location);

    *error = replay_location_parse(pool, location, args, nargs);

    if (*error == NULL) {
        *error = replay_location_check(pool, parent, location);
    }

    if (*error) {
        return NULL;
    }

    *parent->last = location;
    parent->last = &location->next;

    return location;
}


static const char *
replay_location_parse(replay_pool_t *pool, replay_location_t *location,
    const replay_text_t *args, size_t nargs)
{
    int            caseless;
    size_t         i;
    const char    *error;
    replay_text_t  modifier, name;

    static const struct {
        const char         *modifier;
        replay_location_e   type;
    } types[] = {
        { "=", REPLAY_LOCATION_EXACT },
        { "^~", REPLAY_LOCATION_NOREGEX },
        { "~*", REPLAY_LOCATION_REGEX },
        { "~", REPLAY_LOCATION_REGEX },
        { "", REPLAY_LOCATION_PREFIX }
    };

    name = args[nargs - 1];
    modifier = args[0];

    for (i = 0; i < sizeof(types) / sizeof(types[0]) - 1; i++) {

        if (nargs == 2 ? replay_text_is(modifier, types[i].modifier)
                       : replay_text_begins(name, types[i].modifier))
        {
            break;
        }
    }

    /* the empty one fits without a space only */

    if (nargs == 2 && types[i].modifier[0] == '\0') {
        return replay_pool_print(pool, "invalid location modifier \"%.*s\"",
                                 (int) modifier.len, modifier.data);
    }

    if (nargs == 1) {
        name.data += strlen(types[i].modifier);
        name.len -= strlen(types[i].modifier);
        modifier.len = strlen(types[i].modifier);
    }

    location->name = name;
    location->type = types[i].type;

    if (nargs == 1 && location->type == REPLAY_LOCATION_PREFIX
        && replay_text_begins(name, "@"))
    {
        location->type = REPLAY_LOCATION_NAMED;
    }

    location->place.name = replay_text_of(
        replay_pool_print(pool, "location %s%s%.*s", types[i].modifier,
                          modifier.len && types[i].modifier[0] ? " " : "",
                          (int) name.len, name.data));

    if (location->type != REPLAY_LOCATION_REGEX) {
        return NULL;
    }

    caseless = replay_text_is(modifier, "~*")
               || (nargs == 1 && modifier.len == 2);

    location->regex = replay_regex_compile(pool, name, caseless, &error);

    return location->regex ? NULL : error;
}


static const char *
replay_location_check(replay_pool_t *pool, const replay_location_t *parent,
    const replay_location_t *location)
{
    const char               *what;
    const replay_location_t  *other;

    what = NULL;

    if (parent->type == REPLAY_LOCATION_EXACT) {
        what = "cannot be inside the exact location";

    } else if (parent->type == REPLAY_LOCATION_NAMED) {
        what = "cannot be inside the named location";

    } else if (parent->type != REPLAY_LOCATION_SERVER
               && location->type == REPLAY_LOCATION_NAMED)
    {
        return replay_pool_print(pool, "named location \"%.*s\" can be on "
                                 "the server level only",
                                 (int) location->name.len,
                                 location->name.data);

    /* the name of a regular expression is the expression, in nginx as well */

    } else if (location->type != REPLAY_LOCATION_REGEX
               && (location->name.len < parent->name.len
                   || memcmp(location->name.data, parent->name.data,
                             parent->name.len) != 0))
    {
        what = "is outside location";
    }

    if (what) {
        return replay_pool_print(pool, "location \"%.*s\" %s \"%.*s\"",
                                 (int) location->name.len,
                                 location->name.data, what,
                                 (int) parent->name.len, parent->name.data);
    }

    if (location->type == REPLAY_LOCATION_REGEX) {
        return NULL;
    }

    for (other = parent->locations; other; other = other->next) {

        if (other->type != REPLAY_LOCATION_REGEX
            && (other->type == REPLAY_LOCATION_EXACT)
               == (location->type == REPLAY_LOCATION_EXACT)
            && other->name.len == location->name.len
            && memcmp(other->name.data, location->name.data,
                      other->name.len) == 0)
        {
            return replay_pool_print(pool, "duplicate location \"%.*s\"",
                                     (int) location->name.len,
                                     location->name.data);
        }
    }

    return NULL;
}


const replay_conf_place_t *
replay_location_find(const replay_location_t *server, replay_text_t uri)
{
    const replay_location_t  *found;

    found = server;

    if (server->returns) {
        return &server->answered;
    }

    if (replay_location_look(&found, uri) == REPLAY_LOCATION_REDIRECT
        || found->returns || found->internal)
    {
        return &found->answered;
    }

    return &found->place;
}


/* as ngx_http_core_find_location() */

static replay_location_rc_e
replay_location_look(const replay_location_t **found, replay_text_t uri)
{
    int                       noregex;
    replay_location_rc_e      rc;
    const replay_location_t  *parent, *location;

    parent = *found;
    noregex = 0;

    rc = replay_location_look_static(found, uri);

    if (rc == REPLAY_LOCATION_MAYBE) {
        noregex = (*found)->type == REPLAY_LOCATION_NOREGEX;
        rc = replay_location_look(found, uri);
    }

    if (rc == REPLAY_LOCATION_FOUND || rc == REPLAY_LOCATION_REDIRECT
        || noregex)
    {
        return rc;
    }

    for (location = parent->locations; location; location = location->next) {

        if (location->type == REPLAY_LOCATION_REGEX
            && replay_regex_match(location->regex, uri))
        {
            *found = location;

            (void) replay_location_look(found, uri);

            return REPLAY_LOCATION_FOUND;
        }
    }

    return rc;
}


/* as ngx_http_core_find_static_location(), without its tree */

static replay_location_rc_e
replay_location_look_static(const replay_location_t **found,
    replay_text_t uri)
{
    size_t                    n;
    unsigned                  redirects;
    const replay_location_t  *location, *prefix, *redirect;

    prefix = NULL;
    redirects = 0;
    redirect = NULL;

    /* nginx makes no tree of those in a regular expression, and finds none */

    if ((*found)->type == REPLAY_LOCATION_REGEX) {
        return REPLAY_LOCATION_NONE;
    }

    for (location = (*found)->locations; location; location = location->next) {

        if (!replay_location_is_static(location)) {
            continue;
        }

        n = location->name.len < uri.len ? location->name.len : uri.len;

        if (n && memcmp(location->name.data, uri.data, n) != 0) {
            continue;
        }

        /* either one may pass on, and then the exact one is that of nginx */

        if (location->name.len == uri.len + 1
            && location->name.data[uri.len] == '/')
        {
            redirects |= location->redirects;

            if (redirect == NULL || location->type == REPLAY_LOCATION_EXACT) {
                redirect = location;
            }
        }

        if (location->type == REPLAY_LOCATION_EXACT) {

            if (location->name.len == uri.len) {
                *found = location;
                return REPLAY_LOCATION_FOUND;
            }

            continue;
        }

        if (location->name.len <= uri.len
            && (prefix == NULL || location->name.len > prefix->name.len))
        {
            prefix = location;
        }
    }

    if (redirects && (prefix == NULL || prefix->name.len < uri.len)) {
        *found = redirect;
        return REPLAY_LOCATION_REDIRECT;
    }

    if (prefix == NULL) {
        return REPLAY_LOCATION_NONE;
    }

    *found = prefix;

    return REPLAY_LOCATION_MAYBE;
}


static int
replay_location_is_static(const replay_location_t *location)
{
    return location->type == REPLAY_LOCATION_PREFIX
           || location->type == REPLAY_LOCATION_NOREGEX
           || location->type == REPLAY_LOCATION_EXACT;
}
