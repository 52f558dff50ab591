# Part of nginx's generated Makefile: the scripts as a header, and the dashboard
# as another, made again when one of them changes.

cat << END >> $NGX_MAKEFILE

$NGX_OBJS/ngx_http_slidewin_lua.h:	`echo $ngx_addon_dir/lua/*.* $ngx_addon_dir/lua/part/*`
	sh $ngx_addon_dir/lua/embed.sh $ngx_addon_dir/lua > \$@ \\
		|| { rm -f \$@; exit 1; }

$NGX_OBJS/ngx_http_slidewin_dashboard.h:	$ngx_addon_dir/ngx_http_slidewin_module/api/dashboard.html \
		$ngx_addon_dir/ngx_http_slidewin_module/api/embed.sh
	sh $ngx_addon_dir/ngx_http_slidewin_module/api/embed.sh \
		$ngx_addon_dir/ngx_http_slidewin_module/api/dashboard.html > \$@ \
		|| { rm -f \$@; exit 1; }

END
