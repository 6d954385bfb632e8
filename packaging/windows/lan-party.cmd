@echo off
rem Double-click: the settings for a LAN party, data in the folder of this file.
title respawnd
cd /d "%~dp0"
respawnd.exe serve --config lan.yaml
echo.
echo respawnd has ended. The lines above say why.
pause
