// Package gamefiles is the backend of package webservices for the files that games load over
// HTTP. The files of each game are in the catalogue, see games.File; the backend makes the files
// and opens none.
//
// EA's games load theirs from http://servserv.generals.ea.com/servserv/ and below:
//
//	GET  <folder>/english-65540.txt    patches of the game; so are maps-<n>.txt, drivers.txt, *.patchinfo
//	HEAD <folder>/config.txt           its length says whether the copy of the game is current
//	GET  <folder>/config.txt
//	GET  <folder>/MOTD-english.txt     the message of the day
//
// Without 200 for the patches and for config.txt a game does not get to its sign-in. There are
// no patches: the answer is one line feed. config.txt must have at least 100 bytes, see config.
package gamefiles
