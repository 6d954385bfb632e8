@echo off
rem Leads {{.Games}} to {{.Address}}: adds the names to the hosts file.
rem
rem   {{.File}}.bat        adds them, or replaces those of an earlier run
rem   {{.File}}.bat undo   removes them
rem
rem Click it with the right mouse button and choose "Run as administrator".
setlocal
if not defined HOSTS set "HOSTS=%SystemRoot%\System32\drivers\etc\hosts"
set "KEPT=%TEMP%\respawnd-hosts-%RANDOM%.txt"
if "%~1"=="" goto add
if /i "%~1"=="undo" goto undo
echo usage: {{.File}}.bat [undo]
exit /b 2

:add
if not exist "%HOSTS%" type nul >"%HOSTS%"
rem All lines but those of an earlier run.
findstr /v /l {{range .Parts}}/c:"{{.Mark}}" {{end}}"%HOSTS%" >"%KEPT%"
rem A last line without an end must not run into the first new one.
findstr /l {{range .Parts}}/c:"{{.Mark}}" {{end}}"%HOSTS%" >nul || echo.>>"%KEPT%"
(
{{range $part := .Parts}}echo {{.Mark}} begin: removed by {{$.File}}.bat undo
{{range .Names}}echo {{$.Address}} {{.}} {{$part.Mark}}
{{end}}echo {{.Mark}} end
{{end -}}
)>>"%KEPT%"
copy /y "%HOSTS%" "%HOSTS%.before-respawnd" >nul 2>nul
copy /y "%KEPT%" "%HOSTS%" >nul 2>nul || goto denied
echo Added {{.Count}} names of {{.Games}}. To remove them: {{.File}}.bat undo
goto done

:undo
findstr /v /l {{range .Parts}}/c:"{{.Mark}}" {{end}}"%HOSTS%" >"%KEPT%"
copy /y "%KEPT%" "%HOSTS%" >nul 2>nul || goto denied
echo Removed the names of {{.Games}}.

:done
del "%KEPT%"
ipconfig /flushdns >nul 2>nul
pause
exit /b 0

:denied
del "%KEPT%"
echo Cannot write %HOSTS%
echo Click this file with the right mouse button and choose "Run as administrator".
pause
exit /b 1
