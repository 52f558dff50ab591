# shellcheck shell=bash
#
# ./build.sh run [--redis]

PORT=${PORT:-8080}

demo_port_free() {
    [[ $PORT =~ ^[0-9]{1,5}$ && $PORT -ge 1 && $PORT -le 65535 ]] \
        || die "PORT=$PORT is not a port"
    ! (: <"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null \
        || die "port $PORT is in use; choose another: PORT=8081 ./build.sh run"
}

demo() {
    local redis=$1 dir=${DEMO_DIR:-$BUILD/demo} nginx pid redis_pid='' rc=0
    local access_log=$dir/access.log

    nginx=$(flavour_nginx release)
    mkdir -p "$dir"

    # a socket cannot be opened by name, and in a file they would overwrite
    # each other
    if [ -t 1 ] || [ -p /dev/stdout ]; then
        access_log=/dev/stdout
    fi

    demo_configuration >"$dir/nginx.conf"
    quiet demo "$nginx" -p "$dir/" -c "$dir/nginx.conf" -t

    [ -z "$redis" ] || demo_redis

    "$nginx" -p "$dir/" -c "$dir/nginx.conf" -g 'daemon off;' &
    pid=$!
    # a signal may reach this script alone: it must end nginx, and wait for it
    trap 'kill -QUIT "$pid" 2>/dev/null || :' INT TERM HUP

    demo_wait && demo_text

    while kill -0 "$pid" 2>/dev/null; do
        wait "$pid" && rc=0 || rc=$?
    done
    trap - INT TERM HUP

    if [ -n "$redis_pid" ]; then
        kill "$redis_pid" 2>/dev/null || :
        wait "$redis_pid" || :
    fi

    # 128 and above: it was a signal that ended it, or the wait
    [ "$rc" -eq 0 ] || [ "$rc" -gt 128 ] || die "nginx ended with code $rc"
    echo "stopped"
}

# A Redis of the demo's own: a socket in its directory, nothing on disk. The
# workers are the user who runs this, so that they may reach it anywhere.
demo_redis() {
    rm -f "$dir/redis.sock"
    redis-server --port 0 --unixsocket "$dir/redis.sock" \
        --unixsocketperm 700 --dir "$dir" --save '' --appendonly no \
        >"$LOG/redis.log" 2>&1 &
    redis_pid=$!

    for _ in {1..50}; do
        [ ! -S "$dir/redis.sock" ] || return 0
        kill -0 "$redis_pid" 2>/dev/null || break
        sleep 0.1
    done
    die "redis-server does not start, see $LOG/redis.log"
}

demo_wait() {
    for _ in {1..50}; do
        kill -0 "$pid" 2>/dev/null || return
        ! (: <"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null || return 0
        sleep 0.1
    done
}

# The application behind the limits is a second server on the same port, by its
# name: `return` would answer before a limit is looked at.
demo_configuration() {
    cat <<END
load_module $(flavour_module release);
worker_processes 2;
$([ "$EUID" -ne 0 ] || echo "user $(id -un) $(id -gn);")
pid nginx.pid;
error_log stderr crit;

events { }

http {
${redis:+    slidewin_redis unix:$dir/redis.sock;
}    slidewin_zone \$slidewin_client zone=login:1m  rate=5r/m algorithm=log;
    slidewin_zone \$slidewin_client zone=search:1m rate=10r/10s;

    slidewin_headers ietf;

    log_format demo '  \$status \$slidewin_status \$request_method \$request_uri'
                    ' remaining=\$slidewin_remaining'
                    ' retry_after=\$slidewin_retry_after'
                    ' source=\$slidewin_source';
    access_log $access_log demo;

    client_body_temp_path body;
    proxy_temp_path proxy;
    fastcgi_temp_path fastcgi;
    uwsgi_temp_path uwsgi;
    scgi_temp_path scgi;

    server {
        listen $PORT default_server;

        location /      { proxy_pass http://127.0.0.1:$PORT; }
        location /login  {
            slidewin zone=login;
            proxy_pass http://127.0.0.1:$PORT;
        }
        location /search {
            slidewin zone=search;
            proxy_pass http://127.0.0.1:$PORT;
        }

        location /slidewin/ {
            slidewin_api write=on;
            access_log off;
        }

        proxy_set_header Host app.invalid;
    }

    server {
        listen $PORT;
        server_name app.invalid;
        access_log off;
        default_type text/plain;
        return 200 "hello from \$request_uri\n";
    }
}
END
}

demo_text() {
    local url=http://localhost:$PORT
    paint 1

    cat <<END

${bold}slidewin $(version)${plain} on nginx $NGINX_VERSION, ${bold}$url${plain}

  ${green}curl -i $url/login${plain}
      5 requests a minute, an exact log: the sixth gets 429 and a Retry-After
      that is true to the second.

  ${green}for i in \$(seq 12); do curl -s -o /dev/null -w '%{http_code} ' $url/search; done${plain}
      10 requests in 10 seconds, the default counter: ten times 200, then 429.

  ${green}curl -i $url/${plain}
      no limit.

  ${bold}$url/slidewin/${plain}
      the dashboard: who is limited, by which limit, and a button to let a
      client in again. As JSON, and back in:
  ${green}curl -s $url/slidewin/zones/login/top${plain}
  ${green}curl -i -X DELETE $url/slidewin/zones/login/keys/127.0.0.1${plain}

${redis:+The counts are in Redis, ask it with
  ${green}redis-cli -s $dir/redis.sock keys '*'${plain}
Stop it (kill $redis_pid) and the limits hold all the same: source=fallback.

}Every limited answer says what is left (RateLimit, RateLimit-Policy). The
configuration is ${dim}$dir/nginx.conf${plain}

${yellow}Ctrl-C stops it.${plain}

END
}
