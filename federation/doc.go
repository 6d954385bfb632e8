// Package federation reads other masters and lists their game servers here: masters of
// GameSpy's two list protocols, of Zandronum, of Valve's form, of Quake III's and its
// relatives', of 333networks, lists of text and JSON at a URL, and other daemons of this kind.
//
// # Candidates
//
// A master is read every Config.Every. Its answer is bounded in time, entries and bytes;
// a UDP answer counts only from the address that was asked, and host names are resolved
// each time. Entries are only candidates. Some are refused at once, and counted by reason:
// addresses that are no machine's, ports below 1024, IPv6, addresses of this daemon,
// banned ones, private ones unless the master is named lan, and servers that report here
// themselves. The prober of package probe queries the others by their own protocol,
// within its limits, and lists those that answer, under origin federated and with the
// name of the master. Several masters may name a server: it is known from the first
// of them in the configuration.
//
// A server leaves the list when it does not answer three times, or when no master has named it for
// Config.Expire. One that does not answer is queried again later, each time after twice as long, up
// to an hour.
//
// Whatever is reported here has precedence: see master.Registry.Put.
//
// # Other daemons
//
// A master with the protocol respawnd is read over its JSON: the list with its ETag, then
// changes as they happen, and the whole list again every Config.Every, which costs one
// request while it is unchanged. Servers that the other daemon itself knows from a master
// are not taken, so hearsay takes one hop and no loop can form. A daemon that reads
// itself finds its own identity in the list and refuses it.
// The servers of a verified peer are listed with the rules and players that it reports,
// without a query of our own, and marked as vouched.
//
// Once an hour it is also asked how often games were played there, as its players reported. Pages
// say so of games ("played elsewhere"), but the counts raise no word and are not passed on. In a
// cluster each node asks for them.
//
// Lists of the other protocols do not contain the origin of their servers. Two daemons
// that read each other in them keep a server listed for as long as it answers.
//
// # In a cluster
//
// A master is read by the node that its name belongs to, which also queries and lists its
// servers. The others get them with that node's part of the list. After a node left, the
// next owner of a name reads its master within Config.Every.
//
// The package queries no game server, and has no list of its own: it decides only which
// servers are watched, and why.
package federation
