# slidewin_client_prefix: how $slidewin_client groups addresses.

use Test::Nginx::Socket 'no_plan';

add_block_preprocessor(sub {
    my $block = shift;

    $block->set_value(http_config => <<'END' . ($block->http_config // ''));
    set_real_ip_from 127.0.0.1;
    real_ip_header X-From;
    slidewin_zone $slidewin_client zone=client:1m rate=1r/h algorithm=log;
END

    $block->set_value(config => <<'END' . ($block->config // ''));
    location = /t {
        empty_gif;
        add_header X-Client $slidewin_client;
    }
    location = /limited {
        slidewin zone=client;
        empty_gif;
        add_header X-Client $slidewin_client always;
    }
END

    if (defined $block->clients) {
        my (@from, @client, @request);

        for my $line (split /\n/, $block->clients) {
            my ($from, $client) = split ' ', $line;

            push @from, "X-From: $from";
            push @client, "X-Client: $client";
            push @request, 'GET /t';
        }

        $block->set_value(request => \@request);
        $block->set_value(more_headers => \@from);
        $block->set_value(response_headers => \@client);
    }
});

no_long_string();
run_tests();

__DATA__

=== TEST 1: by default an IPv4 address, an IPv6 network of 64 bits
--- clients
192.0.2.1                                192.0.2.1
255.255.255.254                          255.255.255.254
0.0.0.0                                  0.0.0.0
2001:db8:1:2:3:4:5:6                     2001:db8:1:2::/64
2001:db8:1:2::                           2001:db8:1:2::/64
2001:db8:1:2:ffff:ffff:ffff:ffff         2001:db8:1:2::/64
2001:db8:1:3::1                          2001:db8:1:3::/64
2001:DB8::1                              2001:db8::/64
::1                                      ::/64
fe80::1                                  fe80::/64
ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff  ffff:ffff:ffff:ffff::/64
::ffff:192.0.2.1                         192.0.2.1
::ffff:c000:201                          192.0.2.1
::192.0.2.1                              ::/64
::fffe:192.0.2.1                         ::/64
64:ff9b::192.0.2.1                       64:ff9b::/64



=== TEST 2: 24 48
--- config
    slidewin_client_prefix 24 48;
--- clients
192.0.2.1               192.0.2.0/24
192.0.2.255             192.0.2.0/24
192.0.3.0               192.0.3.0/24
::ffff:192.0.2.1        192.0.2.0/24
2001:db8:1:2:3:4:5:6    2001:db8:1::/48
2001:db8:1:ffff::       2001:db8:1::/48
2001:db8:2::            2001:db8:2::/48



=== TEST 3: 32 128: every address
--- config
    slidewin_client_prefix 32 128;
--- clients
192.0.2.1               192.0.2.1
::ffff:192.0.2.1        192.0.2.1
2001:db8:1:2:3:4:5:6    2001:db8:1:2:3:4:5:6
2001:db8:0:0:0:0:0:1    2001:db8::1
::                      ::



=== TEST 4: 0 0: all are one
--- config
    slidewin_client_prefix 0 0;
--- clients
192.0.2.1               0.0.0.0/0
255.255.255.254         0.0.0.0/0
::ffff:192.0.2.1        0.0.0.0/0
2001:db8:1:2:3:4:5:6    ::/0
ffff::                  ::/0



=== TEST 5: prefixes that end inside a byte
--- config
    slidewin_client_prefix 20 57;
--- clients
10.1.255.255            10.1.240.0/20
10.1.239.1              10.1.224.0/20
2001:db8:1:2ff::1       2001:db8:1:280::/57
2001:db8:1:27f::1       2001:db8:1:200::/57



=== TEST 6: a bit less than all, and a bit more than none
--- config
    slidewin_client_prefix 31 127;
--- clients
192.0.2.1               192.0.2.0/31
192.0.2.2               192.0.2.2/31
2001:db8::ffff          2001:db8::fffe/127



=== TEST 7: one bit
--- config
    slidewin_client_prefix 1 1;
--- clients
192.0.2.1               128.0.0.0/1
127.255.255.255         0.0.0.0/1
ffff::1                 8000::/1
7fff::1                 ::/1



=== TEST 8: of http, inherited
--- http_config
    slidewin_client_prefix 16 32;
--- clients
192.0.2.1               192.0.0.0/16
2001:db8:1:2:3:4:5:6    2001:db8::/32



=== TEST 9: of the server, not of http
--- http_config
    slidewin_client_prefix 16 32;
--- config
    slidewin_client_prefix 8 16;
--- clients
192.0.2.1               192.0.0.0/8
2001:db8:1:2:3:4:5:6    2001::/16



=== TEST 10: a network is one client, the next one another
--- request eval
[("GET /limited") x 7]
--- more_headers eval
["X-From: 2001:db8:1:2::1", "X-From: 2001:db8:1:2:ffff::2",
 "X-From: 2001:db8:1:3::1", "X-From: 192.0.2.1", "X-From: 192.0.2.2",
 "X-From: 192.0.2.1", "X-From: ::ffff:192.0.2.2"]
--- error_code eval
[200, 429, 200, 200, 200, 429, 429]



=== TEST 11: a network of IPv4 is one client
--- config
    slidewin_client_prefix 24 64;
--- request eval
[("GET /limited") x 4]
--- more_headers eval
["X-From: 192.0.2.1", "X-From: 192.0.2.2", "X-From: 192.0.3.1",
 "X-From: ::ffff:192.0.2.3"]
--- error_code eval
[200, 429, 200, 429]
--- response_headers eval
["X-Client: 192.0.2.0/24", "X-Client: 192.0.2.0/24",
 "X-Client: 192.0.3.0/24", "X-Client: 192.0.2.0/24"]
