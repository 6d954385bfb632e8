package gamespy

import "github.com/respawnd/respawnd/internal/ascii"

// IsPresenceKey reports whether a text is a key of the presence protocol, in any case
// of letters. Clients look for a key anywhere in a message, among the values too, so
// no value may be one.
func IsPresenceKey(s string) bool {
	const longest = 11
	if s == "" || len(s) > longest {
		return false
	}
	switch ascii.ToLower(s) {
	case "aim", "bdy", "bip", "birthday", "blk", "bm", "bport", "bsi", "challenge", "chc", "conn", "countrycode",
		"date", "dpr", "email", "err", "errmsg", "error", "f", "fatal", "final", "firstname", "gamemn", "gametype",
		"gamevnt", "homepage", "hostip", "hport", "hprivip", "i1", "icquin", "id", "inc", "ind", "ka", "lastname",
		"lat", "lc", "list", "loc", "lon", "lt", "mar", "msg", "nick", "npr", "nur", "o1", "occ", "pi", "pic", "pid",
		"pmask", "product", "profile", "profileid", "proof", "qmodeflags", "qport", "rc", "rn", "rstatus", "sesskey",
		"sessflags", "sex", "sig", "state", "uniquenick", "userid", "zipcode":
		return true
	}
	return false
}
