package api

import "math"

// Files calls put with the list of an API as clients outside are given it, in all forms that are
// whole files, for service.Running.Files.
func Files(s *API, put func(name string, content []byte)) {
	list, outside := s.lister.now(), s.opt.Addresses.Outside()
	put("servers.json", encodeList(list, listParams{full: true, limit: math.MaxInt, asker: outside}, math.MaxInt))
	for _, g := range list.Games {
		put("raw/"+g.Name+".txt", encodeLines(list, g.Name, outside))
		q := networkList{game: g.Name, sort: "gamename", page: 1, per: len(list.Rows), asker: outside}
		put("json/"+g.Name, q.encode(list))
	}
	q := xashList{asker: outside}
	put("v1/gamedirs", encodeGameDirs(list, q))
	dirs := make(map[string]bool)
	q.each(list, func(_ string, row *Row, _ string) { dirs[gameDir(row.Server)] = true })
	for dir := range dirs {
		q.dir = dir
		put("v1/servers/"+dir, encodeXash(list, q))
	}
}
