# ./build.sh check fails when an include breaks the layers of the module: a file
# that knows a room above its own or one that is none of its business, and units
# that include each other in a circle.

use strict;
use warnings;

use File::Temp ();
use Test::More;

my $root = $ENV{SLIDEWIN_ROOT} // '.';
my $sources = "$root/ngx_http_slidewin_module";

# check(): what is found in the sources, and in one of them more
sub check {
    my (%more) = @_;
    my $dir = File::Temp->newdir;

    system('cp', '-r', $sources, "$dir/module") == 0 or die "cp: $?";

    for my $file (keys %more) {
        open my $source, '>>', "$dir/module/$file" or die "$file: $!";
        print $source qq{\n#include $_\n} for @{$more{$file}};
        close $source or die "$file: $!";
    }

    my $found = `perl $root/tools/layers.pl $dir/module 2>&1`;

    return ($found, $? >> 8);
}

sub fails {
    my ($name, $expected, %more) = @_;
    my ($found, $rc) = check(%more);

    is($rc, 1, "$name: the check fails");
    like($found, $expected, '... and says where and why');
}

my $prefix = 'ngx_http_slidewin';
my ($found, $rc) = check();

is($rc, 0, 'the sources keep to their layers');
like($found, qr/\A(\d+) files\n\z/, '... nothing is found');
cmp_ok($found =~ /(\d+)/ ? $1 : 0, '>', 100, '... in all of the files');

fails('a file of a room below includes one of a room above',
      qr{^conf/${prefix}_conf\.c:\d+: includes "${prefix}_ctx\.h": conf is below},
      "conf/${prefix}_conf.c" => [qq{"${prefix}_ctx.h"}]);
fails('inside redis/, connections include calls',
      qr{^redis/transport/${prefix}_redis_conn\.c:\d+: .*redis/transport is below},
      "redis/transport/${prefix}_redis_conn.c" => [qq{"${prefix}_redis_call.h"}]);
fails('a request includes a store',
      qr{^request/${prefix}_claim\.c:\d+: .*request does not know shm$}m,
      "request/${prefix}_claim.c" => [qq{"${prefix}_shm.h"}]);
fails('a store includes the other',
      qr{^redis/${prefix}_redis\.c:\d+: .*redis does not know shm$}m,
      "redis/${prefix}_redis.c" => [qq{"${prefix}_zone.h"}]);
fails('hiredis is included outside of redis/',
      qr{^request/${prefix}_claim\.c:\d+: .*only redis/ knows hiredis$}m,
      "request/${prefix}_claim.c" => ['<hiredis/hiredis.h>']);
fails('nginx is included in sw/',
      qr{^sw/sw_pair\.c:\d+: .*sw/ knows the C library and itself$}m,
      'sw/sw_pair.c' => ['<ngx_core.h>']);
fails('two units include each other',
      qr{^circle: (?=.*sw/sw_pair).*sw/sw_window}m,
      'sw/sw_pair.c' => ['"sw_window.h"']);
for my $name ("<${prefix}_shm.h>", qq{"../shm/${prefix}_shm.h"},
              qq{"shm/${prefix}_shm.h"})
{
    fails("a header of the module is included as $name",
          qr{^request/${prefix}_claim\.c:\d+: .* are named as "name\.h"$}m,
          "request/${prefix}_claim.c" => [$name]);
}
fails('an include goes on in the next line',
      qr{^request/${prefix}_claim\.c:\d+: .*: a name must be on the line}m,
      "request/${prefix}_claim.c" => [qq{\\\n"${prefix}_shm.h"}]);
fails('two headers have one name',
      qr{^shm/sw_pair\.h: .*has the same name$|^sw/sw_pair\.h: .* same name$}m,
      'shm/sw_pair.h' => ['<stdint.h>']);
fails('a file is in a new folder',
      qr{^new\.c: in no room that tools/layers\.pl knows$}m,
      'new.c' => ['"sw_window.h"']);

done_testing();
