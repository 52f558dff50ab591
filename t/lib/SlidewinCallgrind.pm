package SlidewinCallgrind;

# A nginx under callgrind: which functions a case calls, and what they take.

use strict;
use warnings;

use File::Temp ();
use SlidewinNginx ();

my $valgrind = '--tool=callgrind --compress-strings=no --compress-pos=no'
               . ' --dump-before=ngx_http_stub_status_handler';

# start(collect => FUNCTION, server => TEXT, ...): all else as
# SlidewinNginx->start has it. Only what the function takes is collected.
sub start {
    my ($class, %conf) = @_;
    my $collect = delete $conf{collect};
    my $dir = File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1,
                                  CLEANUP => 1);
    my $binary = SlidewinNginx::binary();

    `valgrind --version` =~ /^valgrind-/ or die "there is no valgrind\n";

    open my $file, '>', "$dir/nginx" or die "nginx: $!";
    printf $file "#!/bin/sh\nexec valgrind --quiet %s %s"
                 . " --callgrind-out-file=%s/profile %s \"\$@\"\n",
                 $valgrind, $collect ? "--toggle-collect=$collect" : '',
                 $dir, $binary;
    close $file;
    chmod 0755, "$dir/nginx";

    local $ENV{TEST_NGINX_BINARY} = "$dir/nginx";

    {
        no warnings 'redefine';

        *SlidewinNginx::patience = sub { return 20 };
    }

    # a profile is written before each request for /mark
    $conf{server} .= 'location = /mark { stub_status; }';

    my $nginx = SlidewinNginx->start(daemon => 'off', master => 'off', %conf);

    return bless { dir => $dir, nginx => $nginx, client => $nginx->client,
                   profiles => 0 }, $class;
}

sub stop { return $_[0]{nginx}->stop(signal => 'QUIT') }

# ask(URI, N): the statuses of so many requests, as "200 x3"
sub ask {
    my ($self, $uri, $n) = @_;

    return SlidewinNginx::tally(map {
        $self->{client}->request($uri);
        $self->{client}->answer->{status};
    } 1 .. $n);
}

# profile(URI, BEFORE, N): of N requests, after so many that make the client
# known. Returns their statuses, and a hash of each function's instructions: its
# own, and with all that it called.
sub profile {
    my ($self, $uri, $before, $n) = @_;

    $self->ask($uri, $before);
    $self->ask('/mark', 1);

    my $statuses = $self->ask($uri, $n);

    $self->ask('/mark', 1);
    $self->{profiles} += 2;

    return ($statuses, _read("$self->{dir}/profile.$self->{profiles}"));
}

sub _read {
    my ($path) = @_;
    my ($function, $called, $at_call) = ('', '', 0);
    my (%own, %whole);

    open my $profile, '<', $path or die "$path: $!";

    while (my $line = <$profile>) {
        if ($line =~ /^fn=([^\s']+)/) {
            $function = $1;

        } elsif ($line =~ /^cfn=([^\s']+)/) {
            $called = $1;

        } elsif ($line =~ /^calls=/) {
            $at_call = 1;

        } elsif ($line =~ /^\d+ (\d+)/) {
            if ($at_call) {
                $whole{$called} += $1;

            } else {
                $own{$function} += $1;
            }
            $at_call = 0;
        }
    }

    return (\%own, \%whole);
}

1;
