// Package quickmatch brings players of games such as Command & Conquer: Zero Hour
// together: for each game of the catalogue with a QuickMatch, a program sits in a group
// room of its chat. Players send it the kind of match that they look for; it puts those who fit
// into a match and sends each of them all addresses. Everything else is between the players.
//
// The program is a client of chat (service.Chat.Dial); games recognise it by the number of
// its profile, which config.txt names (webservices/gamefiles). The package knows nothing
// else of chat, and keeps nothing after a restart.
//
// # Messages
//
// All are PRIVMSG between the nicks of the player and the program, except the last one:
//
//	player   \CINFO\Widen\60\LadID\0\LadPass\0\PointsMin\50\PointsMax\200\Points\100\Discons\0\DisconMax\10
//	         \NumPlayers\2\Pings\1A\IP\-1879048135\Side\3\Color\5\NAT\0\EXE\1\INI\2\Maps\0110   (one line)
//	program  MBOT:WORKING <players who wait like this one>
//	player   \WIDEN
//	program  MBOT:WIDENINGSEARCH
//	program  MBOT:MATCHED <map> <seed> <nick> <address> <side> <color> <nat> ...   to each, with all of them
//	program  MBOT:POOLSIZE <ladder> <players> ...                                  to the room
//
// Numbers are decimal. An address is a number whose highest byte is the first octet; the
// client writes it with a sign, the program without. Pings has two hexadecimal digits for
// each host of PingServers, 00 to FF. Maps has a digit for each map of QMMaps that the game
// has, 1 for those that the player wants; a match names a map by its position there.
//
// Refusals are MBOT:BADCINFO, MBOT:BADMAPS, MBOT:BADPINGS and MBOT:CANTSENDWIDENNOW.
// Games ignore them. Unknown keys are skipped.
//
// # Matching
//
// Only players with the same program and rules (EXE, INI), ladder, password and number of
// players meet. Of two, each must have points within the percentages of the other and no more
// disconnections than the other accepts, and they need a map in common; after the seconds
// of Widen, or on \WIDEN, a player accepts all points, disconnections and maps. The rest
// is a number from 0 to 1, half for the ratio of the points and half for the nearness of
// their pings, which must be above 0.3. Players are matched in the order in which they came, each
// with those that fit best.
//
// Red Alert 3 (games.QuickRedAlert) has other keys and answers. Each is from a player to the
// program or back; all players learn of the others who wait:
//
//	player   \CINFO\NumPlayers\2\Points\1000\PointsStddev\50\PointRange\250\IP\3405803783\Side\4\Color\-1\NAT\0\Maps\01\LadID\1
//	program  MBOT:WORKING <players who wait like this one>
//	program  MBOT:POOLSIZE <ladder> <players>
//	program  MBOT:MATCHED <map> <number of the match> 1 <nick> <address> <side> <color> <nat> -1 <points> <team> ...
//
// Two players meet if their ranges of points overlap, see player.reach. Of four, strangers
// make teams on ladder 2; on ladder 3 a team is two players who name each other with teammate1.
//
// The program learns the addresses of players from chat, and uses them in place of those that a
// player sends, so that no player can direct others to a stranger.
package quickmatch
