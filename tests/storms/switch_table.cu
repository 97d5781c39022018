// task: relu
// storm: a switch with four hundred cases in a loop
// status: timeout|correct|unsupported
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = __float_as_uint(x[i]);
  for (int k = 0; k < 1000000; ++k) {
    switch ((v + k) % 400) {
      case 0:
        v = v * 1u + 0u;
        break;
      case 1:
        v = v * 3u + 1u;
        break;
      case 2:
        v = v * 5u + 4u;
        break;
      case 3:
        v = v * 7u + 9u;
        break;
      case 4:
        v = v * 9u + 16u;
        break;
      case 5:
        v = v * 11u + 25u;
        break;
      case 6:
        v = v * 13u + 36u;
        break;
      case 7:
        v = v * 15u + 49u;
        break;
      case 8:
        v = v * 17u + 64u;
        break;
      case 9:
        v = v * 19u + 81u;
        break;
      case 10:
        v = v * 21u + 100u;
        break;
      case 11:
        v = v * 23u + 121u;
        break;
      case 12:
        v = v * 25u + 144u;
        break;
      case 13:
        v = v * 27u + 169u;
        break;
      case 14:
        v = v * 29u + 196u;
        break;
      case 15:
        v = v * 31u + 225u;
        break;
      case 16:
        v = v * 33u + 256u;
        break;
      case 17:
        v = v * 35u + 289u;
        break;
      case 18:
        v = v * 37u + 324u;
        break;
      case 19:
        v = v * 39u + 361u;
        break;
      case 20:
        v = v * 41u + 400u;
        break;
      case 21:
        v = v * 43u + 441u;
        break;
      case 22:
        v = v * 45u + 484u;
        break;
      case 23:
        v = v * 47u + 529u;
        break;
      case 24:
        v = v * 49u + 576u;
        break;
      case 25:
        v = v * 51u + 625u;
        break;
      case 26:
        v = v * 53u + 676u;
        break;
      case 27:
        v = v * 55u + 729u;
        break;
      case 28:
        v = v * 57u + 784u;
        break;
      case 29:
        v = v * 59u + 841u;
        break;
      case 30:
        v = v * 61u + 900u;
        break;
      case 31:
        v = v * 63u + 961u;
        break;
      case 32:
        v = v * 65u + 1024u;
        break;
      case 33:
        v = v * 67u + 1089u;
        break;
      case 34:
        v = v * 69u + 1156u;
        break;
      case 35:
        v = v * 71u + 1225u;
        break;
      case 36:
        v = v * 73u + 1296u;
        break;
      case 37:
        v = v * 75u + 1369u;
        break;
      case 38:
        v = v * 77u + 1444u;
        break;
      case 39:
        v = v * 79u + 1521u;
        break;
      case 40:
        v = v * 81u + 1600u;
        break;
      case 41:
        v = v * 83u + 1681u;
        break;
      case 42:
        v = v * 85u + 1764u;
        break;
      case 43:
        v = v * 87u + 1849u;
        break;
      case 44:
        v = v * 89u + 1936u;
        break;
      case 45:
        v = v * 91u + 2025u;
        break;
      case 46:
        v = v * 93u + 2116u;
        break;
      case 47:
        v = v * 95u + 2209u;
        break;
      case 48:
        v = v * 97u + 2304u;
        break;
      case 49:
        v = v * 99u + 2401u;
        break;
      case 50:
        v = v * 101u + 2500u;
        break;
      case 51:
        v = v * 103u + 2601u;
        break;
      case 52:
        v = v * 105u + 2704u;
        break;
      case 53:
        v = v * 107u + 2809u;
        break;
      case 54:
        v = v * 109u + 2916u;
        break;
      case 55:
        v = v * 111u + 3025u;
        break;
      case 56:
        v = v * 113u + 3136u;
        break;
      case 57:
        v = v * 115u + 3249u;
        break;
      case 58:
        v = v * 117u + 3364u;
        break;
      case 59:
        v = v * 119u + 3481u;
        break;
      case 60:
        v = v * 121u + 3600u;
        break;
      case 61:
        v = v * 123u + 3721u;
        break;
      case 62:
        v = v * 125u + 3844u;
        break;
      case 63:
        v = v * 127u + 3969u;
        break;
      case 64:
        v = v * 129u + 4096u;
        break;
      case 65:
        v = v * 131u + 4225u;
        break;
      case 66:
        v = v * 133u + 4356u;
        break;
      case 67:
        v = v * 135u + 4489u;
        break;
      case 68:
        v = v * 137u + 4624u;
        break;
      case 69:
        v = v * 139u + 4761u;
        break;
      case 70:
        v = v * 141u + 4900u;
        break;
      case 71:
        v = v * 143u + 5041u;
        break;
      case 72:
        v = v * 145u + 5184u;
        break;
      case 73:
        v = v * 147u + 5329u;
        break;
      case 74:
        v = v * 149u + 5476u;
        break;
      case 75:
        v = v * 151u + 5625u;
        break;
      case 76:
        v = v * 153u + 5776u;
        break;
      case 77:
        v = v * 155u + 5929u;
        break;
      case 78:
        v = v * 157u + 6084u;
        break;
      case 79:
        v = v * 159u + 6241u;
        break;
      case 80:
        v = v * 161u + 6400u;
        break;
      case 81:
        v = v * 163u + 6561u;
        break;
      case 82:
        v = v * 165u + 6724u;
        break;
      case 83:
        v = v * 167u + 6889u;
        break;
      case 84:
        v = v * 169u + 7056u;
        break;
      case 85:
        v = v * 171u + 7225u;
        break;
      case 86:
        v = v * 173u + 7396u;
        break;
      case 87:
        v = v * 175u + 7569u;
        break;
      case 88:
        v = v * 177u + 7744u;
        break;
      case 89:
        v = v * 179u + 7921u;
        break;
      case 90:
        v = v * 181u + 8100u;
        break;
      case 91:
        v = v * 183u + 8281u;
        break;
      case 92:
        v = v * 185u + 8464u;
        break;
      case 93:
        v = v * 187u + 8649u;
        break;
      case 94:
        v = v * 189u + 8836u;
        break;
      case 95:
        v = v * 191u + 9025u;
        break;
      case 96:
        v = v * 193u + 9216u;
        break;
      case 97:
        v = v * 195u + 9409u;
        break;
      case 98:
        v = v * 197u + 9604u;
        break;
      case 99:
        v = v * 199u + 9801u;
        break;
      case 100:
        v = v * 201u + 10000u;
        break;
      case 101:
        v = v * 203u + 10201u;
        break;
      case 102:
        v = v * 205u + 10404u;
        break;
      case 103:
        v = v * 207u + 10609u;
        break;
      case 104:
        v = v * 209u + 10816u;
        break;
      case 105:
        v = v * 211u + 11025u;
        break;
      case 106:
        v = v * 213u + 11236u;
        break;
      case 107:
        v = v * 215u + 11449u;
        break;
      case 108:
        v = v * 217u + 11664u;
        break;
      case 109:
        v = v * 219u + 11881u;
        break;
      case 110:
        v = v * 221u + 12100u;
        break;
      case 111:
        v = v * 223u + 12321u;
        break;
      case 112:
        v = v * 225u + 12544u;
        break;
      case 113:
        v = v * 227u + 12769u;
        break;
      case 114:
        v = v * 229u + 12996u;
        break;
      case 115:
        v = v * 231u + 13225u;
        break;
      case 116:
        v = v * 233u + 13456u;
        break;
      case 117:
        v = v * 235u + 13689u;
        break;
      case 118:
        v = v * 237u + 13924u;
        break;
      case 119:
        v = v * 239u + 14161u;
        break;
      case 120:
        v = v * 241u + 14400u;
        break;
      case 121:
        v = v * 243u + 14641u;
        break;
      case 122:
        v = v * 245u + 14884u;
        break;
      case 123:
        v = v * 247u + 15129u;
        break;
      case 124:
        v = v * 249u + 15376u;
        break;
      case 125:
        v = v * 251u + 15625u;
        break;
      case 126:
        v = v * 253u + 15876u;
        break;
      case 127:
        v = v * 255u + 16129u;
        break;
      case 128:
        v = v * 257u + 16384u;
        break;
      case 129:
        v = v * 259u + 16641u;
        break;
      case 130:
        v = v * 261u + 16900u;
        break;
      case 131:
        v = v * 263u + 17161u;
        break;
      case 132:
        v = v * 265u + 17424u;
        break;
      case 133:
        v = v * 267u + 17689u;
        break;
      case 134:
        v = v * 269u + 17956u;
        break;
      case 135:
        v = v * 271u + 18225u;
        break;
      case 136:
        v = v * 273u + 18496u;
        break;
      case 137:
        v = v * 275u + 18769u;
        break;
      case 138:
        v = v * 277u + 19044u;
        break;
      case 139:
        v = v * 279u + 19321u;
        break;
      case 140:
        v = v * 281u + 19600u;
        break;
      case 141:
        v = v * 283u + 19881u;
        break;
      case 142:
        v = v * 285u + 20164u;
        break;
      case 143:
        v = v * 287u + 20449u;
        break;
      case 144:
        v = v * 289u + 20736u;
        break;
      case 145:
        v = v * 291u + 21025u;
        break;
      case 146:
        v = v * 293u + 21316u;
        break;
      case 147:
        v = v * 295u + 21609u;
        break;
      case 148:
        v = v * 297u + 21904u;
        break;
      case 149:
        v = v * 299u + 22201u;
        break;
      case 150:
        v = v * 301u + 22500u;
        break;
      case 151:
        v = v * 303u + 22801u;
        break;
      case 152:
        v = v * 305u + 23104u;
        break;
      case 153:
        v = v * 307u + 23409u;
        break;
      case 154:
        v = v * 309u + 23716u;
        break;
      case 155:
        v = v * 311u + 24025u;
        break;
      case 156:
        v = v * 313u + 24336u;
        break;
      case 157:
        v = v * 315u + 24649u;
        break;
      case 158:
        v = v * 317u + 24964u;
        break;
      case 159:
        v = v * 319u + 25281u;
        break;
      case 160:
        v = v * 321u + 25600u;
        break;
      case 161:
        v = v * 323u + 25921u;
        break;
      case 162:
        v = v * 325u + 26244u;
        break;
      case 163:
        v = v * 327u + 26569u;
        break;
      case 164:
        v = v * 329u + 26896u;
        break;
      case 165:
        v = v * 331u + 27225u;
        break;
      case 166:
        v = v * 333u + 27556u;
        break;
      case 167:
        v = v * 335u + 27889u;
        break;
      case 168:
        v = v * 337u + 28224u;
        break;
      case 169:
        v = v * 339u + 28561u;
        break;
      case 170:
        v = v * 341u + 28900u;
        break;
      case 171:
        v = v * 343u + 29241u;
        break;
      case 172:
        v = v * 345u + 29584u;
        break;
      case 173:
        v = v * 347u + 29929u;
        break;
      case 174:
        v = v * 349u + 30276u;
        break;
      case 175:
        v = v * 351u + 30625u;
        break;
      case 176:
        v = v * 353u + 30976u;
        break;
      case 177:
        v = v * 355u + 31329u;
        break;
      case 178:
        v = v * 357u + 31684u;
        break;
      case 179:
        v = v * 359u + 32041u;
        break;
      case 180:
        v = v * 361u + 32400u;
        break;
      case 181:
        v = v * 363u + 32761u;
        break;
      case 182:
        v = v * 365u + 33124u;
        break;
      case 183:
        v = v * 367u + 33489u;
        break;
      case 184:
        v = v * 369u + 33856u;
        break;
      case 185:
        v = v * 371u + 34225u;
        break;
      case 186:
        v = v * 373u + 34596u;
        break;
      case 187:
        v = v * 375u + 34969u;
        break;
      case 188:
        v = v * 377u + 35344u;
        break;
      case 189:
        v = v * 379u + 35721u;
        break;
      case 190:
        v = v * 381u + 36100u;
        break;
      case 191:
        v = v * 383u + 36481u;
        break;
      case 192:
        v = v * 385u + 36864u;
        break;
      case 193:
        v = v * 387u + 37249u;
        break;
      case 194:
        v = v * 389u + 37636u;
        break;
      case 195:
        v = v * 391u + 38025u;
        break;
      case 196:
        v = v * 393u + 38416u;
        break;
      case 197:
        v = v * 395u + 38809u;
        break;
      case 198:
        v = v * 397u + 39204u;
        break;
      case 199:
        v = v * 399u + 39601u;
        break;
      case 200:
        v = v * 401u + 40000u;
        break;
      case 201:
        v = v * 403u + 40401u;
        break;
      case 202:
        v = v * 405u + 40804u;
        break;
      case 203:
        v = v * 407u + 41209u;
        break;
      case 204:
        v = v * 409u + 41616u;
        break;
      case 205:
        v = v * 411u + 42025u;
        break;
      case 206:
        v = v * 413u + 42436u;
        break;
      case 207:
        v = v * 415u + 42849u;
        break;
      case 208:
        v = v * 417u + 43264u;
        break;
      case 209:
        v = v * 419u + 43681u;
        break;
      case 210:
        v = v * 421u + 44100u;
        break;
      case 211:
        v = v * 423u + 44521u;
        break;
      case 212:
        v = v * 425u + 44944u;
        break;
      case 213:
        v = v * 427u + 45369u;
        break;
      case 214:
        v = v * 429u + 45796u;
        break;
      case 215:
        v = v * 431u + 46225u;
        break;
      case 216:
        v = v * 433u + 46656u;
        break;
      case 217:
        v = v * 435u + 47089u;
        break;
      case 218:
        v = v * 437u + 47524u;
        break;
      case 219:
        v = v * 439u + 47961u;
        break;
      case 220:
        v = v * 441u + 48400u;
        break;
      case 221:
        v = v * 443u + 48841u;
        break;
      case 222:
        v = v * 445u + 49284u;
        break;
      case 223:
        v = v * 447u + 49729u;
        break;
      case 224:
        v = v * 449u + 50176u;
        break;
      case 225:
        v = v * 451u + 50625u;
        break;
      case 226:
        v = v * 453u + 51076u;
        break;
      case 227:
        v = v * 455u + 51529u;
        break;
      case 228:
        v = v * 457u + 51984u;
        break;
      case 229:
        v = v * 459u + 52441u;
        break;
      case 230:
        v = v * 461u + 52900u;
        break;
      case 231:
        v = v * 463u + 53361u;
        break;
      case 232:
        v = v * 465u + 53824u;
        break;
      case 233:
        v = v * 467u + 54289u;
        break;
      case 234:
        v = v * 469u + 54756u;
        break;
      case 235:
        v = v * 471u + 55225u;
        break;
      case 236:
        v = v * 473u + 55696u;
        break;
      case 237:
        v = v * 475u + 56169u;
        break;
      case 238:
        v = v * 477u + 56644u;
        break;
      case 239:
        v = v * 479u + 57121u;
        break;
      case 240:
        v = v * 481u + 57600u;
        break;
      case 241:
        v = v * 483u + 58081u;
        break;
      case 242:
        v = v * 485u + 58564u;
        break;
      case 243:
        v = v * 487u + 59049u;
        break;
      case 244:
        v = v * 489u + 59536u;
        break;
      case 245:
        v = v * 491u + 60025u;
        break;
      case 246:
        v = v * 493u + 60516u;
        break;
      case 247:
        v = v * 495u + 61009u;
        break;
      case 248:
        v = v * 497u + 61504u;
        break;
      case 249:
        v = v * 499u + 62001u;
        break;
      case 250:
        v = v * 501u + 62500u;
        break;
      case 251:
        v = v * 503u + 63001u;
        break;
      case 252:
        v = v * 505u + 63504u;
        break;
      case 253:
        v = v * 507u + 64009u;
        break;
      case 254:
        v = v * 509u + 64516u;
        break;
      case 255:
        v = v * 511u + 65025u;
        break;
      case 256:
        v = v * 513u + 65536u;
        break;
      case 257:
        v = v * 515u + 66049u;
        break;
      case 258:
        v = v * 517u + 66564u;
        break;
      case 259:
        v = v * 519u + 67081u;
        break;
      case 260:
        v = v * 521u + 67600u;
        break;
      case 261:
        v = v * 523u + 68121u;
        break;
      case 262:
        v = v * 525u + 68644u;
        break;
      case 263:
        v = v * 527u + 69169u;
        break;
      case 264:
        v = v * 529u + 69696u;
        break;
      case 265:
        v = v * 531u + 70225u;
        break;
      case 266:
        v = v * 533u + 70756u;
        break;
      case 267:
        v = v * 535u + 71289u;
        break;
      case 268:
        v = v * 537u + 71824u;
        break;
      case 269:
        v = v * 539u + 72361u;
        break;
      case 270:
        v = v * 541u + 72900u;
        break;
      case 271:
        v = v * 543u + 73441u;
        break;
      case 272:
        v = v * 545u + 73984u;
        break;
      case 273:
        v = v * 547u + 74529u;
        break;
      case 274:
        v = v * 549u + 75076u;
        break;
      case 275:
        v = v * 551u + 75625u;
        break;
      case 276:
        v = v * 553u + 76176u;
        break;
      case 277:
        v = v * 555u + 76729u;
        break;
      case 278:
        v = v * 557u + 77284u;
        break;
      case 279:
        v = v * 559u + 77841u;
        break;
      case 280:
        v = v * 561u + 78400u;
        break;
      case 281:
        v = v * 563u + 78961u;
        break;
      case 282:
        v = v * 565u + 79524u;
        break;
      case 283:
        v = v * 567u + 80089u;
        break;
      case 284:
        v = v * 569u + 80656u;
        break;
      case 285:
        v = v * 571u + 81225u;
        break;
      case 286:
        v = v * 573u + 81796u;
        break;
      case 287:
        v = v * 575u + 82369u;
        break;
      case 288:
        v = v * 577u + 82944u;
        break;
      case 289:
        v = v * 579u + 83521u;
        break;
      case 290:
        v = v * 581u + 84100u;
        break;
      case 291:
        v = v * 583u + 84681u;
        break;
      case 292:
        v = v * 585u + 85264u;
        break;
      case 293:
        v = v * 587u + 85849u;
        break;
      case 294:
        v = v * 589u + 86436u;
        break;
      case 295:
        v = v * 591u + 87025u;
        break;
      case 296:
        v = v * 593u + 87616u;
        break;
      case 297:
        v = v * 595u + 88209u;
        break;
      case 298:
        v = v * 597u + 88804u;
        break;
      case 299:
        v = v * 599u + 89401u;
        break;
      case 300:
        v = v * 601u + 90000u;
        break;
      case 301:
        v = v * 603u + 90601u;
        break;
      case 302:
        v = v * 605u + 91204u;
        break;
      case 303:
        v = v * 607u + 91809u;
        break;
      case 304:
        v = v * 609u + 92416u;
        break;
      case 305:
        v = v * 611u + 93025u;
        break;
      case 306:
        v = v * 613u + 93636u;
        break;
      case 307:
        v = v * 615u + 94249u;
        break;
      case 308:
        v = v * 617u + 94864u;
        break;
      case 309:
        v = v * 619u + 95481u;
        break;
      case 310:
        v = v * 621u + 96100u;
        break;
      case 311:
        v = v * 623u + 96721u;
        break;
      case 312:
        v = v * 625u + 97344u;
        break;
      case 313:
        v = v * 627u + 97969u;
        break;
      case 314:
        v = v * 629u + 98596u;
        break;
      case 315:
        v = v * 631u + 99225u;
        break;
      case 316:
        v = v * 633u + 99856u;
        break;
      case 317:
        v = v * 635u + 100489u;
        break;
      case 318:
        v = v * 637u + 101124u;
        break;
      case 319:
        v = v * 639u + 101761u;
        break;
      case 320:
        v = v * 641u + 102400u;
        break;
      case 321:
        v = v * 643u + 103041u;
        break;
      case 322:
        v = v * 645u + 103684u;
        break;
      case 323:
        v = v * 647u + 104329u;
        break;
      case 324:
        v = v * 649u + 104976u;
        break;
      case 325:
        v = v * 651u + 105625u;
        break;
      case 326:
        v = v * 653u + 106276u;
        break;
      case 327:
        v = v * 655u + 106929u;
        break;
      case 328:
        v = v * 657u + 107584u;
        break;
      case 329:
        v = v * 659u + 108241u;
        break;
      case 330:
        v = v * 661u + 108900u;
        break;
      case 331:
        v = v * 663u + 109561u;
        break;
      case 332:
        v = v * 665u + 110224u;
        break;
      case 333:
        v = v * 667u + 110889u;
        break;
      case 334:
        v = v * 669u + 111556u;
        break;
      case 335:
        v = v * 671u + 112225u;
        break;
      case 336:
        v = v * 673u + 112896u;
        break;
      case 337:
        v = v * 675u + 113569u;
        break;
      case 338:
        v = v * 677u + 114244u;
        break;
      case 339:
        v = v * 679u + 114921u;
        break;
      case 340:
        v = v * 681u + 115600u;
        break;
      case 341:
        v = v * 683u + 116281u;
        break;
      case 342:
        v = v * 685u + 116964u;
        break;
      case 343:
        v = v * 687u + 117649u;
        break;
      case 344:
        v = v * 689u + 118336u;
        break;
      case 345:
        v = v * 691u + 119025u;
        break;
      case 346:
        v = v * 693u + 119716u;
        break;
      case 347:
        v = v * 695u + 120409u;
        break;
      case 348:
        v = v * 697u + 121104u;
        break;
      case 349:
        v = v * 699u + 121801u;
        break;
      case 350:
        v = v * 701u + 122500u;
        break;
      case 351:
        v = v * 703u + 123201u;
        break;
      case 352:
        v = v * 705u + 123904u;
        break;
      case 353:
        v = v * 707u + 124609u;
        break;
      case 354:
        v = v * 709u + 125316u;
        break;
      case 355:
        v = v * 711u + 126025u;
        break;
      case 356:
        v = v * 713u + 126736u;
        break;
      case 357:
        v = v * 715u + 127449u;
        break;
      case 358:
        v = v * 717u + 128164u;
        break;
      case 359:
        v = v * 719u + 128881u;
        break;
      case 360:
        v = v * 721u + 129600u;
        break;
      case 361:
        v = v * 723u + 130321u;
        break;
      case 362:
        v = v * 725u + 131044u;
        break;
      case 363:
        v = v * 727u + 131769u;
        break;
      case 364:
        v = v * 729u + 132496u;
        break;
      case 365:
        v = v * 731u + 133225u;
        break;
      case 366:
        v = v * 733u + 133956u;
        break;
      case 367:
        v = v * 735u + 134689u;
        break;
      case 368:
        v = v * 737u + 135424u;
        break;
      case 369:
        v = v * 739u + 136161u;
        break;
      case 370:
        v = v * 741u + 136900u;
        break;
      case 371:
        v = v * 743u + 137641u;
        break;
      case 372:
        v = v * 745u + 138384u;
        break;
      case 373:
        v = v * 747u + 139129u;
        break;
      case 374:
        v = v * 749u + 139876u;
        break;
      case 375:
        v = v * 751u + 140625u;
        break;
      case 376:
        v = v * 753u + 141376u;
        break;
      case 377:
        v = v * 755u + 142129u;
        break;
      case 378:
        v = v * 757u + 142884u;
        break;
      case 379:
        v = v * 759u + 143641u;
        break;
      case 380:
        v = v * 761u + 144400u;
        break;
      case 381:
        v = v * 763u + 145161u;
        break;
      case 382:
        v = v * 765u + 145924u;
        break;
      case 383:
        v = v * 767u + 146689u;
        break;
      case 384:
        v = v * 769u + 147456u;
        break;
      case 385:
        v = v * 771u + 148225u;
        break;
      case 386:
        v = v * 773u + 148996u;
        break;
      case 387:
        v = v * 775u + 149769u;
        break;
      case 388:
        v = v * 777u + 150544u;
        break;
      case 389:
        v = v * 779u + 151321u;
        break;
      case 390:
        v = v * 781u + 152100u;
        break;
      case 391:
        v = v * 783u + 152881u;
        break;
      case 392:
        v = v * 785u + 153664u;
        break;
      case 393:
        v = v * 787u + 154449u;
        break;
      case 394:
        v = v * 789u + 155236u;
        break;
      case 395:
        v = v * 791u + 156025u;
        break;
      case 396:
        v = v * 793u + 156816u;
        break;
      case 397:
        v = v * 795u + 157609u;
        break;
      case 398:
        v = v * 797u + 158404u;
        break;
      case 399:
        v = v * 799u + 159201u;
        break;
    }
  }
  y[i] = v == 42 ? 1.0f : fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
