package games

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const mysqlDump = "-- MySQL dump 10.13\n/*!40101 SET NAMES utf8 */;\nDROP TABLE IF EXISTS `games`;\nCREATE TABLE `games` (\n" +
	"  `id` int(11) NOT NULL,\n  `gamename` text NOT NULL,\n  `secretkey` text NOT NULL,\n  `description` text NOT NULL,\n" +
	"  `queryport` int(11) NOT NULL DEFAULT '6500',\n  `backendflags` int(11) NOT NULL DEFAULT '0',\n" +
	"  `disabledservices` int(11) NOT NULL DEFAULT '0' COMMENT '1 = gone, 2 = down; else there',\n" +
	"  `keylist` text NOT NULL,\n  `keytypelist` text NOT NULL,\n  PRIMARY KEY (`id`)\n) ENGINE=MyISAM;\n" +
	"INSERT INTO `games` VALUES (2,'Blood2','jUOF0p','Blood\\'s II; (x)',6500,0,0,'\\\\country\\\\gamemode\\\\gametype\\\\gamever\\\\hostname\\\\mapname\\\\maxplayers\\\\numplayers\\\\password','\\\\0'),\n" +
	"(3,'bz2','tGbcNv','Battlezone ''2''',17770,128,2,'\\\\hostname\\\\numplayers','\\\\0\\\\1'),(4,'bad name','tGbcNv','',0,0,0,'','');\n" +
	"CREATE TABLE `other` (`a` int);\nINSERT INTO `other` VALUES (1);\n" +
	"INSERT INTO `grouplist` (`groupid`, `gameid`, `maxwaiting`, `name`, `other`) VALUES (7,3,200,'Lobby','\\\\roomType\\\\1'),(8,9,0,'Lost',''),(9,2,0,'Two',NULL);\n"

const postgresDump = `-- PostgreSQL database dump
SET standard_conforming_strings = on;
CREATE TABLE unispy.games (
    gameid integer NOT NULL,
    gamename character varying NOT NULL
);
COPY unispy.games (gameid, gamename, secretkey, description, disabled) FROM stdin;
15	halflife	ZIr1wX	Half Life	f
234	cfs	\N	Microsoft Combat Flight Simulator	t
351	exploeman	8dv	Short secret	f
\.
COPY unispy.users (userid) FROM stdin;
1
\.
COPY unispy.grouplist (groupid, gameid, roomname) FROM stdin;
1	15	Lobby
\.
`

func TestImportSQL(t *testing.T) {
	for name, tc := range map[string]struct {
		dump     string
		want     []Game
		read     int
		problems []string
	}{
		"MySQL": {mysqlDump, []Game{
			{Name: "blood2", ID: 2, Title: "Blood's II; (x)", Secrets: []string{"jUOF0p"}, Rooms: []Room{{ID: 9, Name: "Two"}}},
			{
				Name: "bz2", ID: 3, Title: "Battlezone '2'", Secrets: []string{"tGbcNv"}, QueryPort: 17770, BackendFlags: 128, DisabledServices: 2,
				Rooms: []Room{{ID: 7, Name: "Lobby", MaxWaiting: 200, Fields: []Field{{"roomType", "1"}}}},
				Facts: Facts{Keys: []Key{{Name: "hostname"}, {Name: "numplayers", Type: 1}}},
			},
		}, 4, []string{`dump.sql:17: game "bad name": the name must be`, `room 8: there is no game "9"`}},
		"PostgreSQL": {postgresDump, []Game{
			{Name: "halflife", ID: 15, Title: "Half Life", Secrets: []string{"ZIr1wX"}, Rooms: []Room{{ID: 1, Name: "Lobby"}}},
			{Name: "cfs", ID: 234, Title: "Microsoft Combat Flight Simulator", DisabledServices: Gone},
		}, 3, []string{`dump.sql:10: game "exploeman": secret 1 has 3 characters`}},
	} {
		t.Run(name, func(t *testing.T) {
			got, report, err := Import(strings.NewReader(tc.dump), "dump.sql")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreFields(Game{}, "Source")); diff != "" {
				t.Errorf("games (-want +got):\n%s", diff)
			}
			if report.Format != FormatSQL || report.Read != tc.read || len(report.Problems) != len(tc.problems) {
				t.Errorf("report %+v, want %d read and problems %v", report, tc.read, tc.problems)
			}
			for i, p := range report.Problems {
				if i < len(tc.problems) && !strings.Contains(p.String(), tc.problems[i]) {
					t.Errorf("problem %q, want %q", p, tc.problems[i])
				}
			}
		})
	}
	for name, dump := range map[string]string{
		"string without an end":  "INSERT INTO games (gamename) VALUES ('abc",
		"comment without an end": "INSERT INTO games (gamename) VALUES ('abc'); /* ",
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := Import(strings.NewReader(dump), "dump.sql"); !errors.Is(err, errSQL) {
				t.Errorf("Import: %v, want %v", err, errSQL)
			}
		})
	}
}

func FuzzImportSQL(f *testing.F) {
	f.Add(mysqlDump)
	f.Add(postgresDump)
	f.Add("INSERT INTO games VALUES ((((,),'';")
	f.Fuzz(func(t *testing.T, dump string) {
		list, report, err := Import(strings.NewReader("insert into x values (1);\n"+dump), "dump.sql")
		if err != nil {
			return
		}
		if _, err := NewCatalog(list); err != nil && !strings.Contains(err.Error(), "belongs to a room") {
			t.Errorf("Import returned games that no catalogue takes: %v (%+v)", err, report)
		}
	})
}
