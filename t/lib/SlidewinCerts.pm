package SlidewinCerts;

# Authorities and certificates in a temporary directory, made by openssl. Of
# each there is NAME.pem and NAME.key.

use strict;
use warnings;

use File::Temp ();

sub new {
    my ($class) = @_;
    my $self = bless {
        dir => File::Temp::tempdir('slidewin.XXXXXX', TMPDIR => 1,
                                   CLEANUP => 1),
    }, $class;

    # a server may be another user
    chmod 0755, $self->{dir};

    return $self;
}

sub dir { return $_[0]{dir} }

sub pem { return "$_[0]{dir}/$_[1].pem" }

sub key { return "$_[0]{dir}/$_[1].key" }

# an authority; returns its certificate
sub authority {
    my ($self, $name) = @_;

    return $self->_self_signed($name, 'CA:TRUE');
}

# certificate(NAME, by => AUTHORITY, for => 'DNS:a,IP:127.0.0.1', days => N): by
# itself unless told, without a name unless told; days may be in the past.
sub certificate {
    my ($self, $name, %how) = @_;
    my ($pem, $request) = ($self->pem($name), "$self->{dir}/request");
    my $extensions = "$self->{dir}/extensions";

    return $self->_self_signed($name, 'CA:FALSE', $how{for}) if !$how{by};

    open my $file, '>', $extensions or die "$extensions: $!";
    print $file "basicConstraints=CA:FALSE\n";
    print $file "subjectAltName=$how{for}\n" if $how{for};
    close $file;

    $self->_openssl('req', '-new', '-key', $self->_new_key($name),
                    '-subj', "/CN=$name", '-out', $request);
    $self->_openssl('x509', '-req', '-in', $request,
                    '-CA', $self->pem($how{by}), '-CAkey', $self->key($how{by}),
                    '-set_serial', ++$self->{serial},
                    '-days', $how{days} // 2, '-extfile', $extensions,
                    '-out', $pem);

    return $pem;
}

# the options of a redis-server that shows this certificate
sub server {
    my ($self, $name, @more) = @_;

    return ['--tls-cert-file', $self->pem($name),
            '--tls-key-file', $self->key($name),
            @more ? @more : ('--tls-auth-clients', 'no')];
}

sub _self_signed {
    my ($self, $name, $constraints, $for) = @_;

    $self->_openssl('req', '-x509', '-new', '-key', $self->_new_key($name),
                    '-subj', "/CN=$name", '-days', 2,
                    '-addext', "basicConstraints=critical,$constraints",
                    $for ? ('-addext', "subjectAltName=$for") : (),
                    '-out', $self->pem($name));

    return $self->pem($name);
}

sub _new_key {
    my ($self, $name) = @_;

    $self->_openssl('ecparam', '-name', 'prime256v1', '-genkey', '-noout',
                    '-out', $self->key($name));
    chmod 0644, $self->key($name);

    return $self->key($name);
}

sub _openssl {
    my ($self, @arguments) = @_;
    my $log = "$self->{dir}/log";

    system('sh', '-c', 'exec openssl "$@" >"$0" 2>&1', $log, @arguments) == 0
        or die "openssl @arguments:\n" . `cat $log`;

    return;
}

1;
