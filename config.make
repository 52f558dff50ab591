# Part of nginx's generated Makefile: the scripts as a header, made again when
# one of them changes.

cat << END >> $NGX_MAKEFILE

$NGX_OBJS/ngx_http_slidewin_lua.h:	`echo $ngx_addon_dir/lua/*.* $ngx_addon_dir/lua/part/*`
	sh $ngx_addon_dir/lua/embed.sh $ngx_addon_dir/lua > \$@ \\
		|| { rm -f \$@; exit 1; }

END
