#!/bin/sh
# Leads {{.Games}} to {{.Address}}: adds the names to the hosts file.
#
#   sudo sh {{.File}}.sh        adds them, or replaces those of an earlier run
#   sudo sh {{.File}}.sh undo   removes them
#
# HOSTS=/path/to/file in front of "sh" changes another file than /etc/hosts.
set -eu
hosts=${HOSTS:-/etc/hosts}

if [ ! -w "$hosts" ]; then
	echo "Cannot write $hosts. Run: sudo sh $0" >&2
	exit 1
fi
kept=$(mktemp)
trap 'rm -f "$kept"' EXIT
# All lines but those of an earlier run. grep fails if there are no others.
grep -vF{{range .Parts}} -e '{{.Mark}}'{{end}} "$hosts" >"$kept" || [ $? -eq 1 ]

case "${1-}" in
undo)
	cat "$kept" >"$hosts"
	echo "Removed the names of {{.Games}} from $hosts."
	exit 0
	;;
'') ;;
*)
	echo "usage: sh $0 [undo]" >&2
	exit 2
	;;
esac

# A last line without an end must not run into the first new one.
if [ -s "$kept" ] && [ -n "$(tail -c 1 "$kept")" ]; then
	echo >>"$kept"
fi
cat >>"$kept" <<'END'
{{range $part := .Parts}}{{.Mark}} begin: removed by {{$.File}}.sh undo
{{range .Names}}{{$.Address}} {{.}} {{$part.Mark}}
{{end}}{{.Mark}} end
{{end -}}
END
cp "$hosts" "$hosts.before-respawnd" 2>/dev/null || true
cat "$kept" >"$hosts"
echo "Added {{.Count}} names of {{.Games}} to $hosts. To remove them: sudo sh $0 undo"
# macOS caches names.
if command -v dscacheutil >/dev/null 2>&1; then
	dscacheutil -flushcache
	killall -HUP mDNSResponder 2>/dev/null || true
fi
