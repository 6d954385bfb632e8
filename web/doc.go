// Package web is the public side of the daemon over HTTP: pages for people
// here, the JSON interface for tools in package web/api. Both only read the
// list. Players manage their accounts on the pages of package web/account, the
// only ones with cookies and with forms that change data.
//
// # Paths
//
// Every path takes GET and HEAD, those of forms POST. Errors under /api/ are
// {"error": "text"}.
//
//	/                             the first servers
//	/servers                      the list; ?game= ?q= ?country= ?peopled=1 ?open=1 ?sort= ?page=
//	/servers/{id}                 one server, as it answers now or reported last
//	/servers/{id}/qr.svg          the QR code of its address
//	/players                      players online; ?q= ?page=
//	/connect running services, how to connect
//	/connect/qr.svg               the QR code of this site
//	/games                        the catalogue; ?q=
//	/games/{name}                 one game with the lines for a hosts file; ?ip=
//	/games/{name}/hosts.txt       these lines as a file
//	/games/{name}/hosts.sh, .bat  scripts that add them, for private networks
//	/games/{name}/kit.zip         all that a player needs, as an archive
//	/why                          the verdicts on the visitor's own address
//	/account and below            package web/account
//	/docs and below               the documentation, see package docs
//	/api/v1/ and below            package web/api
//
// # Pages
//
// Pages have no inline styles or scripts, so the content policy allows only
// files of this server. The page of a server waits for the server for liveWait.
// Its chart is drawn here.
//
// # Foreign text
//
// Names, maps and rules come from strangers. Text that is valid UTF-8 is kept,
// any other is read as Latin-1; characters that are invisible or change how the
// text around them is shown are dropped. See package clean.
//
// It is not the admin interface (package admin), it keeps nothing over a restart
// but the numbers of players, and TLS is for a proxy in front of it.
package web
