// Package motd is the backend of package webservices that tells games of a newer version and
// of the day.
//
//	GET http://motd.gamespy.com/motd/vercheck.asp?productid=N&versionuniqueid=S&distid=N&gamename=G
//	GET http://motd.gamespy.com/motd/motd.asp?userid=N&productid=N&versionuniqueid=S&distid=N&uniqueid=S&gamename=G
//	GET http://www.fileplanet.com/dlfileraw.asp?file=N&gamename=G
//
// The first is answered with \newver\0, or, for a version with a patch, with
//
//	\newver\1\lockout\0\newvername\1.1\fpfileid\4242\dlurl\http://example.org/patch.exe\
//
// in which a backslash ends each value. The second is answered with the message of the day,
// which most games ignore; the third with a list of mirrors: a line with a description, one
// with the size, and one for each mirror with its name, a tab and its address.
//
// Games ask without an account and send a number of their own (uniqueid). The backend counts
// versions and keeps neither that nor addresses.
package motd
