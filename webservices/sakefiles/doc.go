// Package sakefiles is the backend of package webservices for files: games upload saves and
// levels, and download those of others.
//
//	POST http://GAME.sake.gamespy.com/SakeFileServer/upload.aspx?gameid=N&pid=N
//	GET  http://GAME.sake.gamespy.com/SakeFileServer/download.aspx?fileid=N&gameid=N&pid=N
//
// The status is always 200. The result is in the header Sake-File-Result, and the id of a
// new file in Sake-File-Id; clients look for these names with regard to case. The body of
// an upload is a form with one file, whose boundary is not quoted and has characters that
// must be; see reader.
//
// # Who uploads
//
// An upload names a profile and proves nothing: the game sends neither the ticket of the
// player nor the secret key of the game. So an upload counts as that of a profile if the
// profile is signed in from the same address, or has shown a valid ticket from it within
// [ProofLife] that is still valid. Banned and deleted accounts upload nothing. This keeps strangers out, not others behind the same address: players who
// share one, such as those of a household, can upload in each other's name.
//
// Downloads need no proof: a client that has the number of a file can read it, as with the
// original service.
package sakefiles
