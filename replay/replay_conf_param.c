
#include "replay_conf_param.h"


static const replay_conf_param_t *replay_conf_param_find(
    const replay_conf_param_t *params, replay_text_t arg);
static int replay_conf_param_unknown(replay_conf_reader_t *reader,
    const replay_conf_param_t *params, replay_text_t arg);


int
replay_conf_params_set(replay_conf_reader_t *reader, size_t first,
    const replay_conf_param_t *params, void *data)
{
    size_t                      i, j;
    replay_text_t              *args, value;
    const replay_conf_param_t  *param;

    args = reader->args.elts;

    for (i = first; i < reader->args.nelts; i++) {

        param = replay_conf_param_find(params, args[i]);

        if (param == NULL) {
            return replay_conf_param_unknown(reader, params, args[i]);
        }

        for (j = first; j < i; j++) {
            if (replay_conf_param_find(params, args[j]) == param) {
                return replay_conf_error(reader, &reader->ref, "duplicate "
                                         "parameter \"%s\" in \"%s\" "
                                         "directive", args[i].data,
                                         args[0].data);
            }
        }

        if (param->set == NULL) {
            continue;
        }

        value.data = args[i].data + strlen(param->name);
        value.len = args[i].len - strlen(param->name);

        if (param->set(reader, args[i], value, data) != 0) {
            return REPLAY_CONF_ERROR;
        }
    }

    return 0;
}


static const replay_conf_param_t *
replay_conf_param_find(const replay_conf_param_t *params, replay_text_t arg)
{
    for ( /* void */ ; params->name; params++) {

        if (params->name[strlen(params->name) - 1] == '='
            ? replay_text_begins(arg, params->name)
            : replay_text_is(arg, params->name))
        {
            return params;
        }
    }

    return NULL;
}


static int
replay_conf_param_unknown(replay_conf_reader_t *reader,
    const replay_conf_param_t *params, replay_text_t arg)
{
    const char     *names;
    replay_text_t  *args;

    args = reader->args.elts;
    names = params->name;

    for (params++; params->name; params++) {
        names = replay_pool_print(reader->pool, "%s, %s", names,
                                  params->name);
    }

    return replay_conf_error(reader, &reader->ref, "invalid parameter \"%s\" "
                             "in \"%s\" directive, it must be one of %s",
                             arg.data, args[0].data, names);
}


int
replay_conf_varies(replay_text_t text)
{
    return text.len && memchr(text.data, '$', text.len) != NULL;
}
