const express = require('express')
const wideCache = require('wide-cache')
const { visits } = require('./visits.cjs')

void visits(wideCache, express).then((result) => console.log(JSON.stringify(result)))
