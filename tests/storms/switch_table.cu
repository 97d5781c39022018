// task: relu
// storm: a switch with two thousand cases in a loop
// status: timeout|correct|unsupported
__global__ void relu(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned v = __float_as_uint(x[i]);
  for (int k = 0; k < 1000000; ++k) {
    switch ((v + k) % 2000) {
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
      case 400:
        v = v * 801u + 160000u;
        break;
      case 401:
        v = v * 803u + 160801u;
        break;
      case 402:
        v = v * 805u + 161604u;
        break;
      case 403:
        v = v * 807u + 162409u;
        break;
      case 404:
        v = v * 809u + 163216u;
        break;
      case 405:
        v = v * 811u + 164025u;
        break;
      case 406:
        v = v * 813u + 164836u;
        break;
      case 407:
        v = v * 815u + 165649u;
        break;
      case 408:
        v = v * 817u + 166464u;
        break;
      case 409:
        v = v * 819u + 167281u;
        break;
      case 410:
        v = v * 821u + 168100u;
        break;
      case 411:
        v = v * 823u + 168921u;
        break;
      case 412:
        v = v * 825u + 169744u;
        break;
      case 413:
        v = v * 827u + 170569u;
        break;
      case 414:
        v = v * 829u + 171396u;
        break;
      case 415:
        v = v * 831u + 172225u;
        break;
      case 416:
        v = v * 833u + 173056u;
        break;
      case 417:
        v = v * 835u + 173889u;
        break;
      case 418:
        v = v * 837u + 174724u;
        break;
      case 419:
        v = v * 839u + 175561u;
        break;
      case 420:
        v = v * 841u + 176400u;
        break;
      case 421:
        v = v * 843u + 177241u;
        break;
      case 422:
        v = v * 845u + 178084u;
        break;
      case 423:
        v = v * 847u + 178929u;
        break;
      case 424:
        v = v * 849u + 179776u;
        break;
      case 425:
        v = v * 851u + 180625u;
        break;
      case 426:
        v = v * 853u + 181476u;
        break;
      case 427:
        v = v * 855u + 182329u;
        break;
      case 428:
        v = v * 857u + 183184u;
        break;
      case 429:
        v = v * 859u + 184041u;
        break;
      case 430:
        v = v * 861u + 184900u;
        break;
      case 431:
        v = v * 863u + 185761u;
        break;
      case 432:
        v = v * 865u + 186624u;
        break;
      case 433:
        v = v * 867u + 187489u;
        break;
      case 434:
        v = v * 869u + 188356u;
        break;
      case 435:
        v = v * 871u + 189225u;
        break;
      case 436:
        v = v * 873u + 190096u;
        break;
      case 437:
        v = v * 875u + 190969u;
        break;
      case 438:
        v = v * 877u + 191844u;
        break;
      case 439:
        v = v * 879u + 192721u;
        break;
      case 440:
        v = v * 881u + 193600u;
        break;
      case 441:
        v = v * 883u + 194481u;
        break;
      case 442:
        v = v * 885u + 195364u;
        break;
      case 443:
        v = v * 887u + 196249u;
        break;
      case 444:
        v = v * 889u + 197136u;
        break;
      case 445:
        v = v * 891u + 198025u;
        break;
      case 446:
        v = v * 893u + 198916u;
        break;
      case 447:
        v = v * 895u + 199809u;
        break;
      case 448:
        v = v * 897u + 200704u;
        break;
      case 449:
        v = v * 899u + 201601u;
        break;
      case 450:
        v = v * 901u + 202500u;
        break;
      case 451:
        v = v * 903u + 203401u;
        break;
      case 452:
        v = v * 905u + 204304u;
        break;
      case 453:
        v = v * 907u + 205209u;
        break;
      case 454:
        v = v * 909u + 206116u;
        break;
      case 455:
        v = v * 911u + 207025u;
        break;
      case 456:
        v = v * 913u + 207936u;
        break;
      case 457:
        v = v * 915u + 208849u;
        break;
      case 458:
        v = v * 917u + 209764u;
        break;
      case 459:
        v = v * 919u + 210681u;
        break;
      case 460:
        v = v * 921u + 211600u;
        break;
      case 461:
        v = v * 923u + 212521u;
        break;
      case 462:
        v = v * 925u + 213444u;
        break;
      case 463:
        v = v * 927u + 214369u;
        break;
      case 464:
        v = v * 929u + 215296u;
        break;
      case 465:
        v = v * 931u + 216225u;
        break;
      case 466:
        v = v * 933u + 217156u;
        break;
      case 467:
        v = v * 935u + 218089u;
        break;
      case 468:
        v = v * 937u + 219024u;
        break;
      case 469:
        v = v * 939u + 219961u;
        break;
      case 470:
        v = v * 941u + 220900u;
        break;
      case 471:
        v = v * 943u + 221841u;
        break;
      case 472:
        v = v * 945u + 222784u;
        break;
      case 473:
        v = v * 947u + 223729u;
        break;
      case 474:
        v = v * 949u + 224676u;
        break;
      case 475:
        v = v * 951u + 225625u;
        break;
      case 476:
        v = v * 953u + 226576u;
        break;
      case 477:
        v = v * 955u + 227529u;
        break;
      case 478:
        v = v * 957u + 228484u;
        break;
      case 479:
        v = v * 959u + 229441u;
        break;
      case 480:
        v = v * 961u + 230400u;
        break;
      case 481:
        v = v * 963u + 231361u;
        break;
      case 482:
        v = v * 965u + 232324u;
        break;
      case 483:
        v = v * 967u + 233289u;
        break;
      case 484:
        v = v * 969u + 234256u;
        break;
      case 485:
        v = v * 971u + 235225u;
        break;
      case 486:
        v = v * 973u + 236196u;
        break;
      case 487:
        v = v * 975u + 237169u;
        break;
      case 488:
        v = v * 977u + 238144u;
        break;
      case 489:
        v = v * 979u + 239121u;
        break;
      case 490:
        v = v * 981u + 240100u;
        break;
      case 491:
        v = v * 983u + 241081u;
        break;
      case 492:
        v = v * 985u + 242064u;
        break;
      case 493:
        v = v * 987u + 243049u;
        break;
      case 494:
        v = v * 989u + 244036u;
        break;
      case 495:
        v = v * 991u + 245025u;
        break;
      case 496:
        v = v * 993u + 246016u;
        break;
      case 497:
        v = v * 995u + 247009u;
        break;
      case 498:
        v = v * 997u + 248004u;
        break;
      case 499:
        v = v * 999u + 249001u;
        break;
      case 500:
        v = v * 1001u + 250000u;
        break;
      case 501:
        v = v * 1003u + 251001u;
        break;
      case 502:
        v = v * 1005u + 252004u;
        break;
      case 503:
        v = v * 1007u + 253009u;
        break;
      case 504:
        v = v * 1009u + 254016u;
        break;
      case 505:
        v = v * 1011u + 255025u;
        break;
      case 506:
        v = v * 1013u + 256036u;
        break;
      case 507:
        v = v * 1015u + 257049u;
        break;
      case 508:
        v = v * 1017u + 258064u;
        break;
      case 509:
        v = v * 1019u + 259081u;
        break;
      case 510:
        v = v * 1021u + 260100u;
        break;
      case 511:
        v = v * 1023u + 261121u;
        break;
      case 512:
        v = v * 1025u + 262144u;
        break;
      case 513:
        v = v * 1027u + 263169u;
        break;
      case 514:
        v = v * 1029u + 264196u;
        break;
      case 515:
        v = v * 1031u + 265225u;
        break;
      case 516:
        v = v * 1033u + 266256u;
        break;
      case 517:
        v = v * 1035u + 267289u;
        break;
      case 518:
        v = v * 1037u + 268324u;
        break;
      case 519:
        v = v * 1039u + 269361u;
        break;
      case 520:
        v = v * 1041u + 270400u;
        break;
      case 521:
        v = v * 1043u + 271441u;
        break;
      case 522:
        v = v * 1045u + 272484u;
        break;
      case 523:
        v = v * 1047u + 273529u;
        break;
      case 524:
        v = v * 1049u + 274576u;
        break;
      case 525:
        v = v * 1051u + 275625u;
        break;
      case 526:
        v = v * 1053u + 276676u;
        break;
      case 527:
        v = v * 1055u + 277729u;
        break;
      case 528:
        v = v * 1057u + 278784u;
        break;
      case 529:
        v = v * 1059u + 279841u;
        break;
      case 530:
        v = v * 1061u + 280900u;
        break;
      case 531:
        v = v * 1063u + 281961u;
        break;
      case 532:
        v = v * 1065u + 283024u;
        break;
      case 533:
        v = v * 1067u + 284089u;
        break;
      case 534:
        v = v * 1069u + 285156u;
        break;
      case 535:
        v = v * 1071u + 286225u;
        break;
      case 536:
        v = v * 1073u + 287296u;
        break;
      case 537:
        v = v * 1075u + 288369u;
        break;
      case 538:
        v = v * 1077u + 289444u;
        break;
      case 539:
        v = v * 1079u + 290521u;
        break;
      case 540:
        v = v * 1081u + 291600u;
        break;
      case 541:
        v = v * 1083u + 292681u;
        break;
      case 542:
        v = v * 1085u + 293764u;
        break;
      case 543:
        v = v * 1087u + 294849u;
        break;
      case 544:
        v = v * 1089u + 295936u;
        break;
      case 545:
        v = v * 1091u + 297025u;
        break;
      case 546:
        v = v * 1093u + 298116u;
        break;
      case 547:
        v = v * 1095u + 299209u;
        break;
      case 548:
        v = v * 1097u + 300304u;
        break;
      case 549:
        v = v * 1099u + 301401u;
        break;
      case 550:
        v = v * 1101u + 302500u;
        break;
      case 551:
        v = v * 1103u + 303601u;
        break;
      case 552:
        v = v * 1105u + 304704u;
        break;
      case 553:
        v = v * 1107u + 305809u;
        break;
      case 554:
        v = v * 1109u + 306916u;
        break;
      case 555:
        v = v * 1111u + 308025u;
        break;
      case 556:
        v = v * 1113u + 309136u;
        break;
      case 557:
        v = v * 1115u + 310249u;
        break;
      case 558:
        v = v * 1117u + 311364u;
        break;
      case 559:
        v = v * 1119u + 312481u;
        break;
      case 560:
        v = v * 1121u + 313600u;
        break;
      case 561:
        v = v * 1123u + 314721u;
        break;
      case 562:
        v = v * 1125u + 315844u;
        break;
      case 563:
        v = v * 1127u + 316969u;
        break;
      case 564:
        v = v * 1129u + 318096u;
        break;
      case 565:
        v = v * 1131u + 319225u;
        break;
      case 566:
        v = v * 1133u + 320356u;
        break;
      case 567:
        v = v * 1135u + 321489u;
        break;
      case 568:
        v = v * 1137u + 322624u;
        break;
      case 569:
        v = v * 1139u + 323761u;
        break;
      case 570:
        v = v * 1141u + 324900u;
        break;
      case 571:
        v = v * 1143u + 326041u;
        break;
      case 572:
        v = v * 1145u + 327184u;
        break;
      case 573:
        v = v * 1147u + 328329u;
        break;
      case 574:
        v = v * 1149u + 329476u;
        break;
      case 575:
        v = v * 1151u + 330625u;
        break;
      case 576:
        v = v * 1153u + 331776u;
        break;
      case 577:
        v = v * 1155u + 332929u;
        break;
      case 578:
        v = v * 1157u + 334084u;
        break;
      case 579:
        v = v * 1159u + 335241u;
        break;
      case 580:
        v = v * 1161u + 336400u;
        break;
      case 581:
        v = v * 1163u + 337561u;
        break;
      case 582:
        v = v * 1165u + 338724u;
        break;
      case 583:
        v = v * 1167u + 339889u;
        break;
      case 584:
        v = v * 1169u + 341056u;
        break;
      case 585:
        v = v * 1171u + 342225u;
        break;
      case 586:
        v = v * 1173u + 343396u;
        break;
      case 587:
        v = v * 1175u + 344569u;
        break;
      case 588:
        v = v * 1177u + 345744u;
        break;
      case 589:
        v = v * 1179u + 346921u;
        break;
      case 590:
        v = v * 1181u + 348100u;
        break;
      case 591:
        v = v * 1183u + 349281u;
        break;
      case 592:
        v = v * 1185u + 350464u;
        break;
      case 593:
        v = v * 1187u + 351649u;
        break;
      case 594:
        v = v * 1189u + 352836u;
        break;
      case 595:
        v = v * 1191u + 354025u;
        break;
      case 596:
        v = v * 1193u + 355216u;
        break;
      case 597:
        v = v * 1195u + 356409u;
        break;
      case 598:
        v = v * 1197u + 357604u;
        break;
      case 599:
        v = v * 1199u + 358801u;
        break;
      case 600:
        v = v * 1201u + 360000u;
        break;
      case 601:
        v = v * 1203u + 361201u;
        break;
      case 602:
        v = v * 1205u + 362404u;
        break;
      case 603:
        v = v * 1207u + 363609u;
        break;
      case 604:
        v = v * 1209u + 364816u;
        break;
      case 605:
        v = v * 1211u + 366025u;
        break;
      case 606:
        v = v * 1213u + 367236u;
        break;
      case 607:
        v = v * 1215u + 368449u;
        break;
      case 608:
        v = v * 1217u + 369664u;
        break;
      case 609:
        v = v * 1219u + 370881u;
        break;
      case 610:
        v = v * 1221u + 372100u;
        break;
      case 611:
        v = v * 1223u + 373321u;
        break;
      case 612:
        v = v * 1225u + 374544u;
        break;
      case 613:
        v = v * 1227u + 375769u;
        break;
      case 614:
        v = v * 1229u + 376996u;
        break;
      case 615:
        v = v * 1231u + 378225u;
        break;
      case 616:
        v = v * 1233u + 379456u;
        break;
      case 617:
        v = v * 1235u + 380689u;
        break;
      case 618:
        v = v * 1237u + 381924u;
        break;
      case 619:
        v = v * 1239u + 383161u;
        break;
      case 620:
        v = v * 1241u + 384400u;
        break;
      case 621:
        v = v * 1243u + 385641u;
        break;
      case 622:
        v = v * 1245u + 386884u;
        break;
      case 623:
        v = v * 1247u + 388129u;
        break;
      case 624:
        v = v * 1249u + 389376u;
        break;
      case 625:
        v = v * 1251u + 390625u;
        break;
      case 626:
        v = v * 1253u + 391876u;
        break;
      case 627:
        v = v * 1255u + 393129u;
        break;
      case 628:
        v = v * 1257u + 394384u;
        break;
      case 629:
        v = v * 1259u + 395641u;
        break;
      case 630:
        v = v * 1261u + 396900u;
        break;
      case 631:
        v = v * 1263u + 398161u;
        break;
      case 632:
        v = v * 1265u + 399424u;
        break;
      case 633:
        v = v * 1267u + 400689u;
        break;
      case 634:
        v = v * 1269u + 401956u;
        break;
      case 635:
        v = v * 1271u + 403225u;
        break;
      case 636:
        v = v * 1273u + 404496u;
        break;
      case 637:
        v = v * 1275u + 405769u;
        break;
      case 638:
        v = v * 1277u + 407044u;
        break;
      case 639:
        v = v * 1279u + 408321u;
        break;
      case 640:
        v = v * 1281u + 409600u;
        break;
      case 641:
        v = v * 1283u + 410881u;
        break;
      case 642:
        v = v * 1285u + 412164u;
        break;
      case 643:
        v = v * 1287u + 413449u;
        break;
      case 644:
        v = v * 1289u + 414736u;
        break;
      case 645:
        v = v * 1291u + 416025u;
        break;
      case 646:
        v = v * 1293u + 417316u;
        break;
      case 647:
        v = v * 1295u + 418609u;
        break;
      case 648:
        v = v * 1297u + 419904u;
        break;
      case 649:
        v = v * 1299u + 421201u;
        break;
      case 650:
        v = v * 1301u + 422500u;
        break;
      case 651:
        v = v * 1303u + 423801u;
        break;
      case 652:
        v = v * 1305u + 425104u;
        break;
      case 653:
        v = v * 1307u + 426409u;
        break;
      case 654:
        v = v * 1309u + 427716u;
        break;
      case 655:
        v = v * 1311u + 429025u;
        break;
      case 656:
        v = v * 1313u + 430336u;
        break;
      case 657:
        v = v * 1315u + 431649u;
        break;
      case 658:
        v = v * 1317u + 432964u;
        break;
      case 659:
        v = v * 1319u + 434281u;
        break;
      case 660:
        v = v * 1321u + 435600u;
        break;
      case 661:
        v = v * 1323u + 436921u;
        break;
      case 662:
        v = v * 1325u + 438244u;
        break;
      case 663:
        v = v * 1327u + 439569u;
        break;
      case 664:
        v = v * 1329u + 440896u;
        break;
      case 665:
        v = v * 1331u + 442225u;
        break;
      case 666:
        v = v * 1333u + 443556u;
        break;
      case 667:
        v = v * 1335u + 444889u;
        break;
      case 668:
        v = v * 1337u + 446224u;
        break;
      case 669:
        v = v * 1339u + 447561u;
        break;
      case 670:
        v = v * 1341u + 448900u;
        break;
      case 671:
        v = v * 1343u + 450241u;
        break;
      case 672:
        v = v * 1345u + 451584u;
        break;
      case 673:
        v = v * 1347u + 452929u;
        break;
      case 674:
        v = v * 1349u + 454276u;
        break;
      case 675:
        v = v * 1351u + 455625u;
        break;
      case 676:
        v = v * 1353u + 456976u;
        break;
      case 677:
        v = v * 1355u + 458329u;
        break;
      case 678:
        v = v * 1357u + 459684u;
        break;
      case 679:
        v = v * 1359u + 461041u;
        break;
      case 680:
        v = v * 1361u + 462400u;
        break;
      case 681:
        v = v * 1363u + 463761u;
        break;
      case 682:
        v = v * 1365u + 465124u;
        break;
      case 683:
        v = v * 1367u + 466489u;
        break;
      case 684:
        v = v * 1369u + 467856u;
        break;
      case 685:
        v = v * 1371u + 469225u;
        break;
      case 686:
        v = v * 1373u + 470596u;
        break;
      case 687:
        v = v * 1375u + 471969u;
        break;
      case 688:
        v = v * 1377u + 473344u;
        break;
      case 689:
        v = v * 1379u + 474721u;
        break;
      case 690:
        v = v * 1381u + 476100u;
        break;
      case 691:
        v = v * 1383u + 477481u;
        break;
      case 692:
        v = v * 1385u + 478864u;
        break;
      case 693:
        v = v * 1387u + 480249u;
        break;
      case 694:
        v = v * 1389u + 481636u;
        break;
      case 695:
        v = v * 1391u + 483025u;
        break;
      case 696:
        v = v * 1393u + 484416u;
        break;
      case 697:
        v = v * 1395u + 485809u;
        break;
      case 698:
        v = v * 1397u + 487204u;
        break;
      case 699:
        v = v * 1399u + 488601u;
        break;
      case 700:
        v = v * 1401u + 490000u;
        break;
      case 701:
        v = v * 1403u + 491401u;
        break;
      case 702:
        v = v * 1405u + 492804u;
        break;
      case 703:
        v = v * 1407u + 494209u;
        break;
      case 704:
        v = v * 1409u + 495616u;
        break;
      case 705:
        v = v * 1411u + 497025u;
        break;
      case 706:
        v = v * 1413u + 498436u;
        break;
      case 707:
        v = v * 1415u + 499849u;
        break;
      case 708:
        v = v * 1417u + 501264u;
        break;
      case 709:
        v = v * 1419u + 502681u;
        break;
      case 710:
        v = v * 1421u + 504100u;
        break;
      case 711:
        v = v * 1423u + 505521u;
        break;
      case 712:
        v = v * 1425u + 506944u;
        break;
      case 713:
        v = v * 1427u + 508369u;
        break;
      case 714:
        v = v * 1429u + 509796u;
        break;
      case 715:
        v = v * 1431u + 511225u;
        break;
      case 716:
        v = v * 1433u + 512656u;
        break;
      case 717:
        v = v * 1435u + 514089u;
        break;
      case 718:
        v = v * 1437u + 515524u;
        break;
      case 719:
        v = v * 1439u + 516961u;
        break;
      case 720:
        v = v * 1441u + 518400u;
        break;
      case 721:
        v = v * 1443u + 519841u;
        break;
      case 722:
        v = v * 1445u + 521284u;
        break;
      case 723:
        v = v * 1447u + 522729u;
        break;
      case 724:
        v = v * 1449u + 524176u;
        break;
      case 725:
        v = v * 1451u + 525625u;
        break;
      case 726:
        v = v * 1453u + 527076u;
        break;
      case 727:
        v = v * 1455u + 528529u;
        break;
      case 728:
        v = v * 1457u + 529984u;
        break;
      case 729:
        v = v * 1459u + 531441u;
        break;
      case 730:
        v = v * 1461u + 532900u;
        break;
      case 731:
        v = v * 1463u + 534361u;
        break;
      case 732:
        v = v * 1465u + 535824u;
        break;
      case 733:
        v = v * 1467u + 537289u;
        break;
      case 734:
        v = v * 1469u + 538756u;
        break;
      case 735:
        v = v * 1471u + 540225u;
        break;
      case 736:
        v = v * 1473u + 541696u;
        break;
      case 737:
        v = v * 1475u + 543169u;
        break;
      case 738:
        v = v * 1477u + 544644u;
        break;
      case 739:
        v = v * 1479u + 546121u;
        break;
      case 740:
        v = v * 1481u + 547600u;
        break;
      case 741:
        v = v * 1483u + 549081u;
        break;
      case 742:
        v = v * 1485u + 550564u;
        break;
      case 743:
        v = v * 1487u + 552049u;
        break;
      case 744:
        v = v * 1489u + 553536u;
        break;
      case 745:
        v = v * 1491u + 555025u;
        break;
      case 746:
        v = v * 1493u + 556516u;
        break;
      case 747:
        v = v * 1495u + 558009u;
        break;
      case 748:
        v = v * 1497u + 559504u;
        break;
      case 749:
        v = v * 1499u + 561001u;
        break;
      case 750:
        v = v * 1501u + 562500u;
        break;
      case 751:
        v = v * 1503u + 564001u;
        break;
      case 752:
        v = v * 1505u + 565504u;
        break;
      case 753:
        v = v * 1507u + 567009u;
        break;
      case 754:
        v = v * 1509u + 568516u;
        break;
      case 755:
        v = v * 1511u + 570025u;
        break;
      case 756:
        v = v * 1513u + 571536u;
        break;
      case 757:
        v = v * 1515u + 573049u;
        break;
      case 758:
        v = v * 1517u + 574564u;
        break;
      case 759:
        v = v * 1519u + 576081u;
        break;
      case 760:
        v = v * 1521u + 577600u;
        break;
      case 761:
        v = v * 1523u + 579121u;
        break;
      case 762:
        v = v * 1525u + 580644u;
        break;
      case 763:
        v = v * 1527u + 582169u;
        break;
      case 764:
        v = v * 1529u + 583696u;
        break;
      case 765:
        v = v * 1531u + 585225u;
        break;
      case 766:
        v = v * 1533u + 586756u;
        break;
      case 767:
        v = v * 1535u + 588289u;
        break;
      case 768:
        v = v * 1537u + 589824u;
        break;
      case 769:
        v = v * 1539u + 591361u;
        break;
      case 770:
        v = v * 1541u + 592900u;
        break;
      case 771:
        v = v * 1543u + 594441u;
        break;
      case 772:
        v = v * 1545u + 595984u;
        break;
      case 773:
        v = v * 1547u + 597529u;
        break;
      case 774:
        v = v * 1549u + 599076u;
        break;
      case 775:
        v = v * 1551u + 600625u;
        break;
      case 776:
        v = v * 1553u + 602176u;
        break;
      case 777:
        v = v * 1555u + 603729u;
        break;
      case 778:
        v = v * 1557u + 605284u;
        break;
      case 779:
        v = v * 1559u + 606841u;
        break;
      case 780:
        v = v * 1561u + 608400u;
        break;
      case 781:
        v = v * 1563u + 609961u;
        break;
      case 782:
        v = v * 1565u + 611524u;
        break;
      case 783:
        v = v * 1567u + 613089u;
        break;
      case 784:
        v = v * 1569u + 614656u;
        break;
      case 785:
        v = v * 1571u + 616225u;
        break;
      case 786:
        v = v * 1573u + 617796u;
        break;
      case 787:
        v = v * 1575u + 619369u;
        break;
      case 788:
        v = v * 1577u + 620944u;
        break;
      case 789:
        v = v * 1579u + 622521u;
        break;
      case 790:
        v = v * 1581u + 624100u;
        break;
      case 791:
        v = v * 1583u + 625681u;
        break;
      case 792:
        v = v * 1585u + 627264u;
        break;
      case 793:
        v = v * 1587u + 628849u;
        break;
      case 794:
        v = v * 1589u + 630436u;
        break;
      case 795:
        v = v * 1591u + 632025u;
        break;
      case 796:
        v = v * 1593u + 633616u;
        break;
      case 797:
        v = v * 1595u + 635209u;
        break;
      case 798:
        v = v * 1597u + 636804u;
        break;
      case 799:
        v = v * 1599u + 638401u;
        break;
      case 800:
        v = v * 1601u + 640000u;
        break;
      case 801:
        v = v * 1603u + 641601u;
        break;
      case 802:
        v = v * 1605u + 643204u;
        break;
      case 803:
        v = v * 1607u + 644809u;
        break;
      case 804:
        v = v * 1609u + 646416u;
        break;
      case 805:
        v = v * 1611u + 648025u;
        break;
      case 806:
        v = v * 1613u + 649636u;
        break;
      case 807:
        v = v * 1615u + 651249u;
        break;
      case 808:
        v = v * 1617u + 652864u;
        break;
      case 809:
        v = v * 1619u + 654481u;
        break;
      case 810:
        v = v * 1621u + 656100u;
        break;
      case 811:
        v = v * 1623u + 657721u;
        break;
      case 812:
        v = v * 1625u + 659344u;
        break;
      case 813:
        v = v * 1627u + 660969u;
        break;
      case 814:
        v = v * 1629u + 662596u;
        break;
      case 815:
        v = v * 1631u + 664225u;
        break;
      case 816:
        v = v * 1633u + 665856u;
        break;
      case 817:
        v = v * 1635u + 667489u;
        break;
      case 818:
        v = v * 1637u + 669124u;
        break;
      case 819:
        v = v * 1639u + 670761u;
        break;
      case 820:
        v = v * 1641u + 672400u;
        break;
      case 821:
        v = v * 1643u + 674041u;
        break;
      case 822:
        v = v * 1645u + 675684u;
        break;
      case 823:
        v = v * 1647u + 677329u;
        break;
      case 824:
        v = v * 1649u + 678976u;
        break;
      case 825:
        v = v * 1651u + 680625u;
        break;
      case 826:
        v = v * 1653u + 682276u;
        break;
      case 827:
        v = v * 1655u + 683929u;
        break;
      case 828:
        v = v * 1657u + 685584u;
        break;
      case 829:
        v = v * 1659u + 687241u;
        break;
      case 830:
        v = v * 1661u + 688900u;
        break;
      case 831:
        v = v * 1663u + 690561u;
        break;
      case 832:
        v = v * 1665u + 692224u;
        break;
      case 833:
        v = v * 1667u + 693889u;
        break;
      case 834:
        v = v * 1669u + 695556u;
        break;
      case 835:
        v = v * 1671u + 697225u;
        break;
      case 836:
        v = v * 1673u + 698896u;
        break;
      case 837:
        v = v * 1675u + 700569u;
        break;
      case 838:
        v = v * 1677u + 702244u;
        break;
      case 839:
        v = v * 1679u + 703921u;
        break;
      case 840:
        v = v * 1681u + 705600u;
        break;
      case 841:
        v = v * 1683u + 707281u;
        break;
      case 842:
        v = v * 1685u + 708964u;
        break;
      case 843:
        v = v * 1687u + 710649u;
        break;
      case 844:
        v = v * 1689u + 712336u;
        break;
      case 845:
        v = v * 1691u + 714025u;
        break;
      case 846:
        v = v * 1693u + 715716u;
        break;
      case 847:
        v = v * 1695u + 717409u;
        break;
      case 848:
        v = v * 1697u + 719104u;
        break;
      case 849:
        v = v * 1699u + 720801u;
        break;
      case 850:
        v = v * 1701u + 722500u;
        break;
      case 851:
        v = v * 1703u + 724201u;
        break;
      case 852:
        v = v * 1705u + 725904u;
        break;
      case 853:
        v = v * 1707u + 727609u;
        break;
      case 854:
        v = v * 1709u + 729316u;
        break;
      case 855:
        v = v * 1711u + 731025u;
        break;
      case 856:
        v = v * 1713u + 732736u;
        break;
      case 857:
        v = v * 1715u + 734449u;
        break;
      case 858:
        v = v * 1717u + 736164u;
        break;
      case 859:
        v = v * 1719u + 737881u;
        break;
      case 860:
        v = v * 1721u + 739600u;
        break;
      case 861:
        v = v * 1723u + 741321u;
        break;
      case 862:
        v = v * 1725u + 743044u;
        break;
      case 863:
        v = v * 1727u + 744769u;
        break;
      case 864:
        v = v * 1729u + 746496u;
        break;
      case 865:
        v = v * 1731u + 748225u;
        break;
      case 866:
        v = v * 1733u + 749956u;
        break;
      case 867:
        v = v * 1735u + 751689u;
        break;
      case 868:
        v = v * 1737u + 753424u;
        break;
      case 869:
        v = v * 1739u + 755161u;
        break;
      case 870:
        v = v * 1741u + 756900u;
        break;
      case 871:
        v = v * 1743u + 758641u;
        break;
      case 872:
        v = v * 1745u + 760384u;
        break;
      case 873:
        v = v * 1747u + 762129u;
        break;
      case 874:
        v = v * 1749u + 763876u;
        break;
      case 875:
        v = v * 1751u + 765625u;
        break;
      case 876:
        v = v * 1753u + 767376u;
        break;
      case 877:
        v = v * 1755u + 769129u;
        break;
      case 878:
        v = v * 1757u + 770884u;
        break;
      case 879:
        v = v * 1759u + 772641u;
        break;
      case 880:
        v = v * 1761u + 774400u;
        break;
      case 881:
        v = v * 1763u + 776161u;
        break;
      case 882:
        v = v * 1765u + 777924u;
        break;
      case 883:
        v = v * 1767u + 779689u;
        break;
      case 884:
        v = v * 1769u + 781456u;
        break;
      case 885:
        v = v * 1771u + 783225u;
        break;
      case 886:
        v = v * 1773u + 784996u;
        break;
      case 887:
        v = v * 1775u + 786769u;
        break;
      case 888:
        v = v * 1777u + 788544u;
        break;
      case 889:
        v = v * 1779u + 790321u;
        break;
      case 890:
        v = v * 1781u + 792100u;
        break;
      case 891:
        v = v * 1783u + 793881u;
        break;
      case 892:
        v = v * 1785u + 795664u;
        break;
      case 893:
        v = v * 1787u + 797449u;
        break;
      case 894:
        v = v * 1789u + 799236u;
        break;
      case 895:
        v = v * 1791u + 801025u;
        break;
      case 896:
        v = v * 1793u + 802816u;
        break;
      case 897:
        v = v * 1795u + 804609u;
        break;
      case 898:
        v = v * 1797u + 806404u;
        break;
      case 899:
        v = v * 1799u + 808201u;
        break;
      case 900:
        v = v * 1801u + 810000u;
        break;
      case 901:
        v = v * 1803u + 811801u;
        break;
      case 902:
        v = v * 1805u + 813604u;
        break;
      case 903:
        v = v * 1807u + 815409u;
        break;
      case 904:
        v = v * 1809u + 817216u;
        break;
      case 905:
        v = v * 1811u + 819025u;
        break;
      case 906:
        v = v * 1813u + 820836u;
        break;
      case 907:
        v = v * 1815u + 822649u;
        break;
      case 908:
        v = v * 1817u + 824464u;
        break;
      case 909:
        v = v * 1819u + 826281u;
        break;
      case 910:
        v = v * 1821u + 828100u;
        break;
      case 911:
        v = v * 1823u + 829921u;
        break;
      case 912:
        v = v * 1825u + 831744u;
        break;
      case 913:
        v = v * 1827u + 833569u;
        break;
      case 914:
        v = v * 1829u + 835396u;
        break;
      case 915:
        v = v * 1831u + 837225u;
        break;
      case 916:
        v = v * 1833u + 839056u;
        break;
      case 917:
        v = v * 1835u + 840889u;
        break;
      case 918:
        v = v * 1837u + 842724u;
        break;
      case 919:
        v = v * 1839u + 844561u;
        break;
      case 920:
        v = v * 1841u + 846400u;
        break;
      case 921:
        v = v * 1843u + 848241u;
        break;
      case 922:
        v = v * 1845u + 850084u;
        break;
      case 923:
        v = v * 1847u + 851929u;
        break;
      case 924:
        v = v * 1849u + 853776u;
        break;
      case 925:
        v = v * 1851u + 855625u;
        break;
      case 926:
        v = v * 1853u + 857476u;
        break;
      case 927:
        v = v * 1855u + 859329u;
        break;
      case 928:
        v = v * 1857u + 861184u;
        break;
      case 929:
        v = v * 1859u + 863041u;
        break;
      case 930:
        v = v * 1861u + 864900u;
        break;
      case 931:
        v = v * 1863u + 866761u;
        break;
      case 932:
        v = v * 1865u + 868624u;
        break;
      case 933:
        v = v * 1867u + 870489u;
        break;
      case 934:
        v = v * 1869u + 872356u;
        break;
      case 935:
        v = v * 1871u + 874225u;
        break;
      case 936:
        v = v * 1873u + 876096u;
        break;
      case 937:
        v = v * 1875u + 877969u;
        break;
      case 938:
        v = v * 1877u + 879844u;
        break;
      case 939:
        v = v * 1879u + 881721u;
        break;
      case 940:
        v = v * 1881u + 883600u;
        break;
      case 941:
        v = v * 1883u + 885481u;
        break;
      case 942:
        v = v * 1885u + 887364u;
        break;
      case 943:
        v = v * 1887u + 889249u;
        break;
      case 944:
        v = v * 1889u + 891136u;
        break;
      case 945:
        v = v * 1891u + 893025u;
        break;
      case 946:
        v = v * 1893u + 894916u;
        break;
      case 947:
        v = v * 1895u + 896809u;
        break;
      case 948:
        v = v * 1897u + 898704u;
        break;
      case 949:
        v = v * 1899u + 900601u;
        break;
      case 950:
        v = v * 1901u + 902500u;
        break;
      case 951:
        v = v * 1903u + 904401u;
        break;
      case 952:
        v = v * 1905u + 906304u;
        break;
      case 953:
        v = v * 1907u + 908209u;
        break;
      case 954:
        v = v * 1909u + 910116u;
        break;
      case 955:
        v = v * 1911u + 912025u;
        break;
      case 956:
        v = v * 1913u + 913936u;
        break;
      case 957:
        v = v * 1915u + 915849u;
        break;
      case 958:
        v = v * 1917u + 917764u;
        break;
      case 959:
        v = v * 1919u + 919681u;
        break;
      case 960:
        v = v * 1921u + 921600u;
        break;
      case 961:
        v = v * 1923u + 923521u;
        break;
      case 962:
        v = v * 1925u + 925444u;
        break;
      case 963:
        v = v * 1927u + 927369u;
        break;
      case 964:
        v = v * 1929u + 929296u;
        break;
      case 965:
        v = v * 1931u + 931225u;
        break;
      case 966:
        v = v * 1933u + 933156u;
        break;
      case 967:
        v = v * 1935u + 935089u;
        break;
      case 968:
        v = v * 1937u + 937024u;
        break;
      case 969:
        v = v * 1939u + 938961u;
        break;
      case 970:
        v = v * 1941u + 940900u;
        break;
      case 971:
        v = v * 1943u + 942841u;
        break;
      case 972:
        v = v * 1945u + 944784u;
        break;
      case 973:
        v = v * 1947u + 946729u;
        break;
      case 974:
        v = v * 1949u + 948676u;
        break;
      case 975:
        v = v * 1951u + 950625u;
        break;
      case 976:
        v = v * 1953u + 952576u;
        break;
      case 977:
        v = v * 1955u + 954529u;
        break;
      case 978:
        v = v * 1957u + 956484u;
        break;
      case 979:
        v = v * 1959u + 958441u;
        break;
      case 980:
        v = v * 1961u + 960400u;
        break;
      case 981:
        v = v * 1963u + 962361u;
        break;
      case 982:
        v = v * 1965u + 964324u;
        break;
      case 983:
        v = v * 1967u + 966289u;
        break;
      case 984:
        v = v * 1969u + 968256u;
        break;
      case 985:
        v = v * 1971u + 970225u;
        break;
      case 986:
        v = v * 1973u + 972196u;
        break;
      case 987:
        v = v * 1975u + 974169u;
        break;
      case 988:
        v = v * 1977u + 976144u;
        break;
      case 989:
        v = v * 1979u + 978121u;
        break;
      case 990:
        v = v * 1981u + 980100u;
        break;
      case 991:
        v = v * 1983u + 982081u;
        break;
      case 992:
        v = v * 1985u + 984064u;
        break;
      case 993:
        v = v * 1987u + 986049u;
        break;
      case 994:
        v = v * 1989u + 988036u;
        break;
      case 995:
        v = v * 1991u + 990025u;
        break;
      case 996:
        v = v * 1993u + 992016u;
        break;
      case 997:
        v = v * 1995u + 994009u;
        break;
      case 998:
        v = v * 1997u + 996004u;
        break;
      case 999:
        v = v * 1999u + 998001u;
        break;
      case 1000:
        v = v * 2001u + 1000000u;
        break;
      case 1001:
        v = v * 2003u + 1002001u;
        break;
      case 1002:
        v = v * 2005u + 1004004u;
        break;
      case 1003:
        v = v * 2007u + 1006009u;
        break;
      case 1004:
        v = v * 2009u + 1008016u;
        break;
      case 1005:
        v = v * 2011u + 1010025u;
        break;
      case 1006:
        v = v * 2013u + 1012036u;
        break;
      case 1007:
        v = v * 2015u + 1014049u;
        break;
      case 1008:
        v = v * 2017u + 1016064u;
        break;
      case 1009:
        v = v * 2019u + 1018081u;
        break;
      case 1010:
        v = v * 2021u + 1020100u;
        break;
      case 1011:
        v = v * 2023u + 1022121u;
        break;
      case 1012:
        v = v * 2025u + 1024144u;
        break;
      case 1013:
        v = v * 2027u + 1026169u;
        break;
      case 1014:
        v = v * 2029u + 1028196u;
        break;
      case 1015:
        v = v * 2031u + 1030225u;
        break;
      case 1016:
        v = v * 2033u + 1032256u;
        break;
      case 1017:
        v = v * 2035u + 1034289u;
        break;
      case 1018:
        v = v * 2037u + 1036324u;
        break;
      case 1019:
        v = v * 2039u + 1038361u;
        break;
      case 1020:
        v = v * 2041u + 1040400u;
        break;
      case 1021:
        v = v * 2043u + 1042441u;
        break;
      case 1022:
        v = v * 2045u + 1044484u;
        break;
      case 1023:
        v = v * 2047u + 1046529u;
        break;
      case 1024:
        v = v * 2049u + 1048576u;
        break;
      case 1025:
        v = v * 2051u + 1050625u;
        break;
      case 1026:
        v = v * 2053u + 1052676u;
        break;
      case 1027:
        v = v * 2055u + 1054729u;
        break;
      case 1028:
        v = v * 2057u + 1056784u;
        break;
      case 1029:
        v = v * 2059u + 1058841u;
        break;
      case 1030:
        v = v * 2061u + 1060900u;
        break;
      case 1031:
        v = v * 2063u + 1062961u;
        break;
      case 1032:
        v = v * 2065u + 1065024u;
        break;
      case 1033:
        v = v * 2067u + 1067089u;
        break;
      case 1034:
        v = v * 2069u + 1069156u;
        break;
      case 1035:
        v = v * 2071u + 1071225u;
        break;
      case 1036:
        v = v * 2073u + 1073296u;
        break;
      case 1037:
        v = v * 2075u + 1075369u;
        break;
      case 1038:
        v = v * 2077u + 1077444u;
        break;
      case 1039:
        v = v * 2079u + 1079521u;
        break;
      case 1040:
        v = v * 2081u + 1081600u;
        break;
      case 1041:
        v = v * 2083u + 1083681u;
        break;
      case 1042:
        v = v * 2085u + 1085764u;
        break;
      case 1043:
        v = v * 2087u + 1087849u;
        break;
      case 1044:
        v = v * 2089u + 1089936u;
        break;
      case 1045:
        v = v * 2091u + 1092025u;
        break;
      case 1046:
        v = v * 2093u + 1094116u;
        break;
      case 1047:
        v = v * 2095u + 1096209u;
        break;
      case 1048:
        v = v * 2097u + 1098304u;
        break;
      case 1049:
        v = v * 2099u + 1100401u;
        break;
      case 1050:
        v = v * 2101u + 1102500u;
        break;
      case 1051:
        v = v * 2103u + 1104601u;
        break;
      case 1052:
        v = v * 2105u + 1106704u;
        break;
      case 1053:
        v = v * 2107u + 1108809u;
        break;
      case 1054:
        v = v * 2109u + 1110916u;
        break;
      case 1055:
        v = v * 2111u + 1113025u;
        break;
      case 1056:
        v = v * 2113u + 1115136u;
        break;
      case 1057:
        v = v * 2115u + 1117249u;
        break;
      case 1058:
        v = v * 2117u + 1119364u;
        break;
      case 1059:
        v = v * 2119u + 1121481u;
        break;
      case 1060:
        v = v * 2121u + 1123600u;
        break;
      case 1061:
        v = v * 2123u + 1125721u;
        break;
      case 1062:
        v = v * 2125u + 1127844u;
        break;
      case 1063:
        v = v * 2127u + 1129969u;
        break;
      case 1064:
        v = v * 2129u + 1132096u;
        break;
      case 1065:
        v = v * 2131u + 1134225u;
        break;
      case 1066:
        v = v * 2133u + 1136356u;
        break;
      case 1067:
        v = v * 2135u + 1138489u;
        break;
      case 1068:
        v = v * 2137u + 1140624u;
        break;
      case 1069:
        v = v * 2139u + 1142761u;
        break;
      case 1070:
        v = v * 2141u + 1144900u;
        break;
      case 1071:
        v = v * 2143u + 1147041u;
        break;
      case 1072:
        v = v * 2145u + 1149184u;
        break;
      case 1073:
        v = v * 2147u + 1151329u;
        break;
      case 1074:
        v = v * 2149u + 1153476u;
        break;
      case 1075:
        v = v * 2151u + 1155625u;
        break;
      case 1076:
        v = v * 2153u + 1157776u;
        break;
      case 1077:
        v = v * 2155u + 1159929u;
        break;
      case 1078:
        v = v * 2157u + 1162084u;
        break;
      case 1079:
        v = v * 2159u + 1164241u;
        break;
      case 1080:
        v = v * 2161u + 1166400u;
        break;
      case 1081:
        v = v * 2163u + 1168561u;
        break;
      case 1082:
        v = v * 2165u + 1170724u;
        break;
      case 1083:
        v = v * 2167u + 1172889u;
        break;
      case 1084:
        v = v * 2169u + 1175056u;
        break;
      case 1085:
        v = v * 2171u + 1177225u;
        break;
      case 1086:
        v = v * 2173u + 1179396u;
        break;
      case 1087:
        v = v * 2175u + 1181569u;
        break;
      case 1088:
        v = v * 2177u + 1183744u;
        break;
      case 1089:
        v = v * 2179u + 1185921u;
        break;
      case 1090:
        v = v * 2181u + 1188100u;
        break;
      case 1091:
        v = v * 2183u + 1190281u;
        break;
      case 1092:
        v = v * 2185u + 1192464u;
        break;
      case 1093:
        v = v * 2187u + 1194649u;
        break;
      case 1094:
        v = v * 2189u + 1196836u;
        break;
      case 1095:
        v = v * 2191u + 1199025u;
        break;
      case 1096:
        v = v * 2193u + 1201216u;
        break;
      case 1097:
        v = v * 2195u + 1203409u;
        break;
      case 1098:
        v = v * 2197u + 1205604u;
        break;
      case 1099:
        v = v * 2199u + 1207801u;
        break;
      case 1100:
        v = v * 2201u + 1210000u;
        break;
      case 1101:
        v = v * 2203u + 1212201u;
        break;
      case 1102:
        v = v * 2205u + 1214404u;
        break;
      case 1103:
        v = v * 2207u + 1216609u;
        break;
      case 1104:
        v = v * 2209u + 1218816u;
        break;
      case 1105:
        v = v * 2211u + 1221025u;
        break;
      case 1106:
        v = v * 2213u + 1223236u;
        break;
      case 1107:
        v = v * 2215u + 1225449u;
        break;
      case 1108:
        v = v * 2217u + 1227664u;
        break;
      case 1109:
        v = v * 2219u + 1229881u;
        break;
      case 1110:
        v = v * 2221u + 1232100u;
        break;
      case 1111:
        v = v * 2223u + 1234321u;
        break;
      case 1112:
        v = v * 2225u + 1236544u;
        break;
      case 1113:
        v = v * 2227u + 1238769u;
        break;
      case 1114:
        v = v * 2229u + 1240996u;
        break;
      case 1115:
        v = v * 2231u + 1243225u;
        break;
      case 1116:
        v = v * 2233u + 1245456u;
        break;
      case 1117:
        v = v * 2235u + 1247689u;
        break;
      case 1118:
        v = v * 2237u + 1249924u;
        break;
      case 1119:
        v = v * 2239u + 1252161u;
        break;
      case 1120:
        v = v * 2241u + 1254400u;
        break;
      case 1121:
        v = v * 2243u + 1256641u;
        break;
      case 1122:
        v = v * 2245u + 1258884u;
        break;
      case 1123:
        v = v * 2247u + 1261129u;
        break;
      case 1124:
        v = v * 2249u + 1263376u;
        break;
      case 1125:
        v = v * 2251u + 1265625u;
        break;
      case 1126:
        v = v * 2253u + 1267876u;
        break;
      case 1127:
        v = v * 2255u + 1270129u;
        break;
      case 1128:
        v = v * 2257u + 1272384u;
        break;
      case 1129:
        v = v * 2259u + 1274641u;
        break;
      case 1130:
        v = v * 2261u + 1276900u;
        break;
      case 1131:
        v = v * 2263u + 1279161u;
        break;
      case 1132:
        v = v * 2265u + 1281424u;
        break;
      case 1133:
        v = v * 2267u + 1283689u;
        break;
      case 1134:
        v = v * 2269u + 1285956u;
        break;
      case 1135:
        v = v * 2271u + 1288225u;
        break;
      case 1136:
        v = v * 2273u + 1290496u;
        break;
      case 1137:
        v = v * 2275u + 1292769u;
        break;
      case 1138:
        v = v * 2277u + 1295044u;
        break;
      case 1139:
        v = v * 2279u + 1297321u;
        break;
      case 1140:
        v = v * 2281u + 1299600u;
        break;
      case 1141:
        v = v * 2283u + 1301881u;
        break;
      case 1142:
        v = v * 2285u + 1304164u;
        break;
      case 1143:
        v = v * 2287u + 1306449u;
        break;
      case 1144:
        v = v * 2289u + 1308736u;
        break;
      case 1145:
        v = v * 2291u + 1311025u;
        break;
      case 1146:
        v = v * 2293u + 1313316u;
        break;
      case 1147:
        v = v * 2295u + 1315609u;
        break;
      case 1148:
        v = v * 2297u + 1317904u;
        break;
      case 1149:
        v = v * 2299u + 1320201u;
        break;
      case 1150:
        v = v * 2301u + 1322500u;
        break;
      case 1151:
        v = v * 2303u + 1324801u;
        break;
      case 1152:
        v = v * 2305u + 1327104u;
        break;
      case 1153:
        v = v * 2307u + 1329409u;
        break;
      case 1154:
        v = v * 2309u + 1331716u;
        break;
      case 1155:
        v = v * 2311u + 1334025u;
        break;
      case 1156:
        v = v * 2313u + 1336336u;
        break;
      case 1157:
        v = v * 2315u + 1338649u;
        break;
      case 1158:
        v = v * 2317u + 1340964u;
        break;
      case 1159:
        v = v * 2319u + 1343281u;
        break;
      case 1160:
        v = v * 2321u + 1345600u;
        break;
      case 1161:
        v = v * 2323u + 1347921u;
        break;
      case 1162:
        v = v * 2325u + 1350244u;
        break;
      case 1163:
        v = v * 2327u + 1352569u;
        break;
      case 1164:
        v = v * 2329u + 1354896u;
        break;
      case 1165:
        v = v * 2331u + 1357225u;
        break;
      case 1166:
        v = v * 2333u + 1359556u;
        break;
      case 1167:
        v = v * 2335u + 1361889u;
        break;
      case 1168:
        v = v * 2337u + 1364224u;
        break;
      case 1169:
        v = v * 2339u + 1366561u;
        break;
      case 1170:
        v = v * 2341u + 1368900u;
        break;
      case 1171:
        v = v * 2343u + 1371241u;
        break;
      case 1172:
        v = v * 2345u + 1373584u;
        break;
      case 1173:
        v = v * 2347u + 1375929u;
        break;
      case 1174:
        v = v * 2349u + 1378276u;
        break;
      case 1175:
        v = v * 2351u + 1380625u;
        break;
      case 1176:
        v = v * 2353u + 1382976u;
        break;
      case 1177:
        v = v * 2355u + 1385329u;
        break;
      case 1178:
        v = v * 2357u + 1387684u;
        break;
      case 1179:
        v = v * 2359u + 1390041u;
        break;
      case 1180:
        v = v * 2361u + 1392400u;
        break;
      case 1181:
        v = v * 2363u + 1394761u;
        break;
      case 1182:
        v = v * 2365u + 1397124u;
        break;
      case 1183:
        v = v * 2367u + 1399489u;
        break;
      case 1184:
        v = v * 2369u + 1401856u;
        break;
      case 1185:
        v = v * 2371u + 1404225u;
        break;
      case 1186:
        v = v * 2373u + 1406596u;
        break;
      case 1187:
        v = v * 2375u + 1408969u;
        break;
      case 1188:
        v = v * 2377u + 1411344u;
        break;
      case 1189:
        v = v * 2379u + 1413721u;
        break;
      case 1190:
        v = v * 2381u + 1416100u;
        break;
      case 1191:
        v = v * 2383u + 1418481u;
        break;
      case 1192:
        v = v * 2385u + 1420864u;
        break;
      case 1193:
        v = v * 2387u + 1423249u;
        break;
      case 1194:
        v = v * 2389u + 1425636u;
        break;
      case 1195:
        v = v * 2391u + 1428025u;
        break;
      case 1196:
        v = v * 2393u + 1430416u;
        break;
      case 1197:
        v = v * 2395u + 1432809u;
        break;
      case 1198:
        v = v * 2397u + 1435204u;
        break;
      case 1199:
        v = v * 2399u + 1437601u;
        break;
      case 1200:
        v = v * 2401u + 1440000u;
        break;
      case 1201:
        v = v * 2403u + 1442401u;
        break;
      case 1202:
        v = v * 2405u + 1444804u;
        break;
      case 1203:
        v = v * 2407u + 1447209u;
        break;
      case 1204:
        v = v * 2409u + 1449616u;
        break;
      case 1205:
        v = v * 2411u + 1452025u;
        break;
      case 1206:
        v = v * 2413u + 1454436u;
        break;
      case 1207:
        v = v * 2415u + 1456849u;
        break;
      case 1208:
        v = v * 2417u + 1459264u;
        break;
      case 1209:
        v = v * 2419u + 1461681u;
        break;
      case 1210:
        v = v * 2421u + 1464100u;
        break;
      case 1211:
        v = v * 2423u + 1466521u;
        break;
      case 1212:
        v = v * 2425u + 1468944u;
        break;
      case 1213:
        v = v * 2427u + 1471369u;
        break;
      case 1214:
        v = v * 2429u + 1473796u;
        break;
      case 1215:
        v = v * 2431u + 1476225u;
        break;
      case 1216:
        v = v * 2433u + 1478656u;
        break;
      case 1217:
        v = v * 2435u + 1481089u;
        break;
      case 1218:
        v = v * 2437u + 1483524u;
        break;
      case 1219:
        v = v * 2439u + 1485961u;
        break;
      case 1220:
        v = v * 2441u + 1488400u;
        break;
      case 1221:
        v = v * 2443u + 1490841u;
        break;
      case 1222:
        v = v * 2445u + 1493284u;
        break;
      case 1223:
        v = v * 2447u + 1495729u;
        break;
      case 1224:
        v = v * 2449u + 1498176u;
        break;
      case 1225:
        v = v * 2451u + 1500625u;
        break;
      case 1226:
        v = v * 2453u + 1503076u;
        break;
      case 1227:
        v = v * 2455u + 1505529u;
        break;
      case 1228:
        v = v * 2457u + 1507984u;
        break;
      case 1229:
        v = v * 2459u + 1510441u;
        break;
      case 1230:
        v = v * 2461u + 1512900u;
        break;
      case 1231:
        v = v * 2463u + 1515361u;
        break;
      case 1232:
        v = v * 2465u + 1517824u;
        break;
      case 1233:
        v = v * 2467u + 1520289u;
        break;
      case 1234:
        v = v * 2469u + 1522756u;
        break;
      case 1235:
        v = v * 2471u + 1525225u;
        break;
      case 1236:
        v = v * 2473u + 1527696u;
        break;
      case 1237:
        v = v * 2475u + 1530169u;
        break;
      case 1238:
        v = v * 2477u + 1532644u;
        break;
      case 1239:
        v = v * 2479u + 1535121u;
        break;
      case 1240:
        v = v * 2481u + 1537600u;
        break;
      case 1241:
        v = v * 2483u + 1540081u;
        break;
      case 1242:
        v = v * 2485u + 1542564u;
        break;
      case 1243:
        v = v * 2487u + 1545049u;
        break;
      case 1244:
        v = v * 2489u + 1547536u;
        break;
      case 1245:
        v = v * 2491u + 1550025u;
        break;
      case 1246:
        v = v * 2493u + 1552516u;
        break;
      case 1247:
        v = v * 2495u + 1555009u;
        break;
      case 1248:
        v = v * 2497u + 1557504u;
        break;
      case 1249:
        v = v * 2499u + 1560001u;
        break;
      case 1250:
        v = v * 2501u + 1562500u;
        break;
      case 1251:
        v = v * 2503u + 1565001u;
        break;
      case 1252:
        v = v * 2505u + 1567504u;
        break;
      case 1253:
        v = v * 2507u + 1570009u;
        break;
      case 1254:
        v = v * 2509u + 1572516u;
        break;
      case 1255:
        v = v * 2511u + 1575025u;
        break;
      case 1256:
        v = v * 2513u + 1577536u;
        break;
      case 1257:
        v = v * 2515u + 1580049u;
        break;
      case 1258:
        v = v * 2517u + 1582564u;
        break;
      case 1259:
        v = v * 2519u + 1585081u;
        break;
      case 1260:
        v = v * 2521u + 1587600u;
        break;
      case 1261:
        v = v * 2523u + 1590121u;
        break;
      case 1262:
        v = v * 2525u + 1592644u;
        break;
      case 1263:
        v = v * 2527u + 1595169u;
        break;
      case 1264:
        v = v * 2529u + 1597696u;
        break;
      case 1265:
        v = v * 2531u + 1600225u;
        break;
      case 1266:
        v = v * 2533u + 1602756u;
        break;
      case 1267:
        v = v * 2535u + 1605289u;
        break;
      case 1268:
        v = v * 2537u + 1607824u;
        break;
      case 1269:
        v = v * 2539u + 1610361u;
        break;
      case 1270:
        v = v * 2541u + 1612900u;
        break;
      case 1271:
        v = v * 2543u + 1615441u;
        break;
      case 1272:
        v = v * 2545u + 1617984u;
        break;
      case 1273:
        v = v * 2547u + 1620529u;
        break;
      case 1274:
        v = v * 2549u + 1623076u;
        break;
      case 1275:
        v = v * 2551u + 1625625u;
        break;
      case 1276:
        v = v * 2553u + 1628176u;
        break;
      case 1277:
        v = v * 2555u + 1630729u;
        break;
      case 1278:
        v = v * 2557u + 1633284u;
        break;
      case 1279:
        v = v * 2559u + 1635841u;
        break;
      case 1280:
        v = v * 2561u + 1638400u;
        break;
      case 1281:
        v = v * 2563u + 1640961u;
        break;
      case 1282:
        v = v * 2565u + 1643524u;
        break;
      case 1283:
        v = v * 2567u + 1646089u;
        break;
      case 1284:
        v = v * 2569u + 1648656u;
        break;
      case 1285:
        v = v * 2571u + 1651225u;
        break;
      case 1286:
        v = v * 2573u + 1653796u;
        break;
      case 1287:
        v = v * 2575u + 1656369u;
        break;
      case 1288:
        v = v * 2577u + 1658944u;
        break;
      case 1289:
        v = v * 2579u + 1661521u;
        break;
      case 1290:
        v = v * 2581u + 1664100u;
        break;
      case 1291:
        v = v * 2583u + 1666681u;
        break;
      case 1292:
        v = v * 2585u + 1669264u;
        break;
      case 1293:
        v = v * 2587u + 1671849u;
        break;
      case 1294:
        v = v * 2589u + 1674436u;
        break;
      case 1295:
        v = v * 2591u + 1677025u;
        break;
      case 1296:
        v = v * 2593u + 1679616u;
        break;
      case 1297:
        v = v * 2595u + 1682209u;
        break;
      case 1298:
        v = v * 2597u + 1684804u;
        break;
      case 1299:
        v = v * 2599u + 1687401u;
        break;
      case 1300:
        v = v * 2601u + 1690000u;
        break;
      case 1301:
        v = v * 2603u + 1692601u;
        break;
      case 1302:
        v = v * 2605u + 1695204u;
        break;
      case 1303:
        v = v * 2607u + 1697809u;
        break;
      case 1304:
        v = v * 2609u + 1700416u;
        break;
      case 1305:
        v = v * 2611u + 1703025u;
        break;
      case 1306:
        v = v * 2613u + 1705636u;
        break;
      case 1307:
        v = v * 2615u + 1708249u;
        break;
      case 1308:
        v = v * 2617u + 1710864u;
        break;
      case 1309:
        v = v * 2619u + 1713481u;
        break;
      case 1310:
        v = v * 2621u + 1716100u;
        break;
      case 1311:
        v = v * 2623u + 1718721u;
        break;
      case 1312:
        v = v * 2625u + 1721344u;
        break;
      case 1313:
        v = v * 2627u + 1723969u;
        break;
      case 1314:
        v = v * 2629u + 1726596u;
        break;
      case 1315:
        v = v * 2631u + 1729225u;
        break;
      case 1316:
        v = v * 2633u + 1731856u;
        break;
      case 1317:
        v = v * 2635u + 1734489u;
        break;
      case 1318:
        v = v * 2637u + 1737124u;
        break;
      case 1319:
        v = v * 2639u + 1739761u;
        break;
      case 1320:
        v = v * 2641u + 1742400u;
        break;
      case 1321:
        v = v * 2643u + 1745041u;
        break;
      case 1322:
        v = v * 2645u + 1747684u;
        break;
      case 1323:
        v = v * 2647u + 1750329u;
        break;
      case 1324:
        v = v * 2649u + 1752976u;
        break;
      case 1325:
        v = v * 2651u + 1755625u;
        break;
      case 1326:
        v = v * 2653u + 1758276u;
        break;
      case 1327:
        v = v * 2655u + 1760929u;
        break;
      case 1328:
        v = v * 2657u + 1763584u;
        break;
      case 1329:
        v = v * 2659u + 1766241u;
        break;
      case 1330:
        v = v * 2661u + 1768900u;
        break;
      case 1331:
        v = v * 2663u + 1771561u;
        break;
      case 1332:
        v = v * 2665u + 1774224u;
        break;
      case 1333:
        v = v * 2667u + 1776889u;
        break;
      case 1334:
        v = v * 2669u + 1779556u;
        break;
      case 1335:
        v = v * 2671u + 1782225u;
        break;
      case 1336:
        v = v * 2673u + 1784896u;
        break;
      case 1337:
        v = v * 2675u + 1787569u;
        break;
      case 1338:
        v = v * 2677u + 1790244u;
        break;
      case 1339:
        v = v * 2679u + 1792921u;
        break;
      case 1340:
        v = v * 2681u + 1795600u;
        break;
      case 1341:
        v = v * 2683u + 1798281u;
        break;
      case 1342:
        v = v * 2685u + 1800964u;
        break;
      case 1343:
        v = v * 2687u + 1803649u;
        break;
      case 1344:
        v = v * 2689u + 1806336u;
        break;
      case 1345:
        v = v * 2691u + 1809025u;
        break;
      case 1346:
        v = v * 2693u + 1811716u;
        break;
      case 1347:
        v = v * 2695u + 1814409u;
        break;
      case 1348:
        v = v * 2697u + 1817104u;
        break;
      case 1349:
        v = v * 2699u + 1819801u;
        break;
      case 1350:
        v = v * 2701u + 1822500u;
        break;
      case 1351:
        v = v * 2703u + 1825201u;
        break;
      case 1352:
        v = v * 2705u + 1827904u;
        break;
      case 1353:
        v = v * 2707u + 1830609u;
        break;
      case 1354:
        v = v * 2709u + 1833316u;
        break;
      case 1355:
        v = v * 2711u + 1836025u;
        break;
      case 1356:
        v = v * 2713u + 1838736u;
        break;
      case 1357:
        v = v * 2715u + 1841449u;
        break;
      case 1358:
        v = v * 2717u + 1844164u;
        break;
      case 1359:
        v = v * 2719u + 1846881u;
        break;
      case 1360:
        v = v * 2721u + 1849600u;
        break;
      case 1361:
        v = v * 2723u + 1852321u;
        break;
      case 1362:
        v = v * 2725u + 1855044u;
        break;
      case 1363:
        v = v * 2727u + 1857769u;
        break;
      case 1364:
        v = v * 2729u + 1860496u;
        break;
      case 1365:
        v = v * 2731u + 1863225u;
        break;
      case 1366:
        v = v * 2733u + 1865956u;
        break;
      case 1367:
        v = v * 2735u + 1868689u;
        break;
      case 1368:
        v = v * 2737u + 1871424u;
        break;
      case 1369:
        v = v * 2739u + 1874161u;
        break;
      case 1370:
        v = v * 2741u + 1876900u;
        break;
      case 1371:
        v = v * 2743u + 1879641u;
        break;
      case 1372:
        v = v * 2745u + 1882384u;
        break;
      case 1373:
        v = v * 2747u + 1885129u;
        break;
      case 1374:
        v = v * 2749u + 1887876u;
        break;
      case 1375:
        v = v * 2751u + 1890625u;
        break;
      case 1376:
        v = v * 2753u + 1893376u;
        break;
      case 1377:
        v = v * 2755u + 1896129u;
        break;
      case 1378:
        v = v * 2757u + 1898884u;
        break;
      case 1379:
        v = v * 2759u + 1901641u;
        break;
      case 1380:
        v = v * 2761u + 1904400u;
        break;
      case 1381:
        v = v * 2763u + 1907161u;
        break;
      case 1382:
        v = v * 2765u + 1909924u;
        break;
      case 1383:
        v = v * 2767u + 1912689u;
        break;
      case 1384:
        v = v * 2769u + 1915456u;
        break;
      case 1385:
        v = v * 2771u + 1918225u;
        break;
      case 1386:
        v = v * 2773u + 1920996u;
        break;
      case 1387:
        v = v * 2775u + 1923769u;
        break;
      case 1388:
        v = v * 2777u + 1926544u;
        break;
      case 1389:
        v = v * 2779u + 1929321u;
        break;
      case 1390:
        v = v * 2781u + 1932100u;
        break;
      case 1391:
        v = v * 2783u + 1934881u;
        break;
      case 1392:
        v = v * 2785u + 1937664u;
        break;
      case 1393:
        v = v * 2787u + 1940449u;
        break;
      case 1394:
        v = v * 2789u + 1943236u;
        break;
      case 1395:
        v = v * 2791u + 1946025u;
        break;
      case 1396:
        v = v * 2793u + 1948816u;
        break;
      case 1397:
        v = v * 2795u + 1951609u;
        break;
      case 1398:
        v = v * 2797u + 1954404u;
        break;
      case 1399:
        v = v * 2799u + 1957201u;
        break;
      case 1400:
        v = v * 2801u + 1960000u;
        break;
      case 1401:
        v = v * 2803u + 1962801u;
        break;
      case 1402:
        v = v * 2805u + 1965604u;
        break;
      case 1403:
        v = v * 2807u + 1968409u;
        break;
      case 1404:
        v = v * 2809u + 1971216u;
        break;
      case 1405:
        v = v * 2811u + 1974025u;
        break;
      case 1406:
        v = v * 2813u + 1976836u;
        break;
      case 1407:
        v = v * 2815u + 1979649u;
        break;
      case 1408:
        v = v * 2817u + 1982464u;
        break;
      case 1409:
        v = v * 2819u + 1985281u;
        break;
      case 1410:
        v = v * 2821u + 1988100u;
        break;
      case 1411:
        v = v * 2823u + 1990921u;
        break;
      case 1412:
        v = v * 2825u + 1993744u;
        break;
      case 1413:
        v = v * 2827u + 1996569u;
        break;
      case 1414:
        v = v * 2829u + 1999396u;
        break;
      case 1415:
        v = v * 2831u + 2002225u;
        break;
      case 1416:
        v = v * 2833u + 2005056u;
        break;
      case 1417:
        v = v * 2835u + 2007889u;
        break;
      case 1418:
        v = v * 2837u + 2010724u;
        break;
      case 1419:
        v = v * 2839u + 2013561u;
        break;
      case 1420:
        v = v * 2841u + 2016400u;
        break;
      case 1421:
        v = v * 2843u + 2019241u;
        break;
      case 1422:
        v = v * 2845u + 2022084u;
        break;
      case 1423:
        v = v * 2847u + 2024929u;
        break;
      case 1424:
        v = v * 2849u + 2027776u;
        break;
      case 1425:
        v = v * 2851u + 2030625u;
        break;
      case 1426:
        v = v * 2853u + 2033476u;
        break;
      case 1427:
        v = v * 2855u + 2036329u;
        break;
      case 1428:
        v = v * 2857u + 2039184u;
        break;
      case 1429:
        v = v * 2859u + 2042041u;
        break;
      case 1430:
        v = v * 2861u + 2044900u;
        break;
      case 1431:
        v = v * 2863u + 2047761u;
        break;
      case 1432:
        v = v * 2865u + 2050624u;
        break;
      case 1433:
        v = v * 2867u + 2053489u;
        break;
      case 1434:
        v = v * 2869u + 2056356u;
        break;
      case 1435:
        v = v * 2871u + 2059225u;
        break;
      case 1436:
        v = v * 2873u + 2062096u;
        break;
      case 1437:
        v = v * 2875u + 2064969u;
        break;
      case 1438:
        v = v * 2877u + 2067844u;
        break;
      case 1439:
        v = v * 2879u + 2070721u;
        break;
      case 1440:
        v = v * 2881u + 2073600u;
        break;
      case 1441:
        v = v * 2883u + 2076481u;
        break;
      case 1442:
        v = v * 2885u + 2079364u;
        break;
      case 1443:
        v = v * 2887u + 2082249u;
        break;
      case 1444:
        v = v * 2889u + 2085136u;
        break;
      case 1445:
        v = v * 2891u + 2088025u;
        break;
      case 1446:
        v = v * 2893u + 2090916u;
        break;
      case 1447:
        v = v * 2895u + 2093809u;
        break;
      case 1448:
        v = v * 2897u + 2096704u;
        break;
      case 1449:
        v = v * 2899u + 2099601u;
        break;
      case 1450:
        v = v * 2901u + 2102500u;
        break;
      case 1451:
        v = v * 2903u + 2105401u;
        break;
      case 1452:
        v = v * 2905u + 2108304u;
        break;
      case 1453:
        v = v * 2907u + 2111209u;
        break;
      case 1454:
        v = v * 2909u + 2114116u;
        break;
      case 1455:
        v = v * 2911u + 2117025u;
        break;
      case 1456:
        v = v * 2913u + 2119936u;
        break;
      case 1457:
        v = v * 2915u + 2122849u;
        break;
      case 1458:
        v = v * 2917u + 2125764u;
        break;
      case 1459:
        v = v * 2919u + 2128681u;
        break;
      case 1460:
        v = v * 2921u + 2131600u;
        break;
      case 1461:
        v = v * 2923u + 2134521u;
        break;
      case 1462:
        v = v * 2925u + 2137444u;
        break;
      case 1463:
        v = v * 2927u + 2140369u;
        break;
      case 1464:
        v = v * 2929u + 2143296u;
        break;
      case 1465:
        v = v * 2931u + 2146225u;
        break;
      case 1466:
        v = v * 2933u + 2149156u;
        break;
      case 1467:
        v = v * 2935u + 2152089u;
        break;
      case 1468:
        v = v * 2937u + 2155024u;
        break;
      case 1469:
        v = v * 2939u + 2157961u;
        break;
      case 1470:
        v = v * 2941u + 2160900u;
        break;
      case 1471:
        v = v * 2943u + 2163841u;
        break;
      case 1472:
        v = v * 2945u + 2166784u;
        break;
      case 1473:
        v = v * 2947u + 2169729u;
        break;
      case 1474:
        v = v * 2949u + 2172676u;
        break;
      case 1475:
        v = v * 2951u + 2175625u;
        break;
      case 1476:
        v = v * 2953u + 2178576u;
        break;
      case 1477:
        v = v * 2955u + 2181529u;
        break;
      case 1478:
        v = v * 2957u + 2184484u;
        break;
      case 1479:
        v = v * 2959u + 2187441u;
        break;
      case 1480:
        v = v * 2961u + 2190400u;
        break;
      case 1481:
        v = v * 2963u + 2193361u;
        break;
      case 1482:
        v = v * 2965u + 2196324u;
        break;
      case 1483:
        v = v * 2967u + 2199289u;
        break;
      case 1484:
        v = v * 2969u + 2202256u;
        break;
      case 1485:
        v = v * 2971u + 2205225u;
        break;
      case 1486:
        v = v * 2973u + 2208196u;
        break;
      case 1487:
        v = v * 2975u + 2211169u;
        break;
      case 1488:
        v = v * 2977u + 2214144u;
        break;
      case 1489:
        v = v * 2979u + 2217121u;
        break;
      case 1490:
        v = v * 2981u + 2220100u;
        break;
      case 1491:
        v = v * 2983u + 2223081u;
        break;
      case 1492:
        v = v * 2985u + 2226064u;
        break;
      case 1493:
        v = v * 2987u + 2229049u;
        break;
      case 1494:
        v = v * 2989u + 2232036u;
        break;
      case 1495:
        v = v * 2991u + 2235025u;
        break;
      case 1496:
        v = v * 2993u + 2238016u;
        break;
      case 1497:
        v = v * 2995u + 2241009u;
        break;
      case 1498:
        v = v * 2997u + 2244004u;
        break;
      case 1499:
        v = v * 2999u + 2247001u;
        break;
      case 1500:
        v = v * 3001u + 2250000u;
        break;
      case 1501:
        v = v * 3003u + 2253001u;
        break;
      case 1502:
        v = v * 3005u + 2256004u;
        break;
      case 1503:
        v = v * 3007u + 2259009u;
        break;
      case 1504:
        v = v * 3009u + 2262016u;
        break;
      case 1505:
        v = v * 3011u + 2265025u;
        break;
      case 1506:
        v = v * 3013u + 2268036u;
        break;
      case 1507:
        v = v * 3015u + 2271049u;
        break;
      case 1508:
        v = v * 3017u + 2274064u;
        break;
      case 1509:
        v = v * 3019u + 2277081u;
        break;
      case 1510:
        v = v * 3021u + 2280100u;
        break;
      case 1511:
        v = v * 3023u + 2283121u;
        break;
      case 1512:
        v = v * 3025u + 2286144u;
        break;
      case 1513:
        v = v * 3027u + 2289169u;
        break;
      case 1514:
        v = v * 3029u + 2292196u;
        break;
      case 1515:
        v = v * 3031u + 2295225u;
        break;
      case 1516:
        v = v * 3033u + 2298256u;
        break;
      case 1517:
        v = v * 3035u + 2301289u;
        break;
      case 1518:
        v = v * 3037u + 2304324u;
        break;
      case 1519:
        v = v * 3039u + 2307361u;
        break;
      case 1520:
        v = v * 3041u + 2310400u;
        break;
      case 1521:
        v = v * 3043u + 2313441u;
        break;
      case 1522:
        v = v * 3045u + 2316484u;
        break;
      case 1523:
        v = v * 3047u + 2319529u;
        break;
      case 1524:
        v = v * 3049u + 2322576u;
        break;
      case 1525:
        v = v * 3051u + 2325625u;
        break;
      case 1526:
        v = v * 3053u + 2328676u;
        break;
      case 1527:
        v = v * 3055u + 2331729u;
        break;
      case 1528:
        v = v * 3057u + 2334784u;
        break;
      case 1529:
        v = v * 3059u + 2337841u;
        break;
      case 1530:
        v = v * 3061u + 2340900u;
        break;
      case 1531:
        v = v * 3063u + 2343961u;
        break;
      case 1532:
        v = v * 3065u + 2347024u;
        break;
      case 1533:
        v = v * 3067u + 2350089u;
        break;
      case 1534:
        v = v * 3069u + 2353156u;
        break;
      case 1535:
        v = v * 3071u + 2356225u;
        break;
      case 1536:
        v = v * 3073u + 2359296u;
        break;
      case 1537:
        v = v * 3075u + 2362369u;
        break;
      case 1538:
        v = v * 3077u + 2365444u;
        break;
      case 1539:
        v = v * 3079u + 2368521u;
        break;
      case 1540:
        v = v * 3081u + 2371600u;
        break;
      case 1541:
        v = v * 3083u + 2374681u;
        break;
      case 1542:
        v = v * 3085u + 2377764u;
        break;
      case 1543:
        v = v * 3087u + 2380849u;
        break;
      case 1544:
        v = v * 3089u + 2383936u;
        break;
      case 1545:
        v = v * 3091u + 2387025u;
        break;
      case 1546:
        v = v * 3093u + 2390116u;
        break;
      case 1547:
        v = v * 3095u + 2393209u;
        break;
      case 1548:
        v = v * 3097u + 2396304u;
        break;
      case 1549:
        v = v * 3099u + 2399401u;
        break;
      case 1550:
        v = v * 3101u + 2402500u;
        break;
      case 1551:
        v = v * 3103u + 2405601u;
        break;
      case 1552:
        v = v * 3105u + 2408704u;
        break;
      case 1553:
        v = v * 3107u + 2411809u;
        break;
      case 1554:
        v = v * 3109u + 2414916u;
        break;
      case 1555:
        v = v * 3111u + 2418025u;
        break;
      case 1556:
        v = v * 3113u + 2421136u;
        break;
      case 1557:
        v = v * 3115u + 2424249u;
        break;
      case 1558:
        v = v * 3117u + 2427364u;
        break;
      case 1559:
        v = v * 3119u + 2430481u;
        break;
      case 1560:
        v = v * 3121u + 2433600u;
        break;
      case 1561:
        v = v * 3123u + 2436721u;
        break;
      case 1562:
        v = v * 3125u + 2439844u;
        break;
      case 1563:
        v = v * 3127u + 2442969u;
        break;
      case 1564:
        v = v * 3129u + 2446096u;
        break;
      case 1565:
        v = v * 3131u + 2449225u;
        break;
      case 1566:
        v = v * 3133u + 2452356u;
        break;
      case 1567:
        v = v * 3135u + 2455489u;
        break;
      case 1568:
        v = v * 3137u + 2458624u;
        break;
      case 1569:
        v = v * 3139u + 2461761u;
        break;
      case 1570:
        v = v * 3141u + 2464900u;
        break;
      case 1571:
        v = v * 3143u + 2468041u;
        break;
      case 1572:
        v = v * 3145u + 2471184u;
        break;
      case 1573:
        v = v * 3147u + 2474329u;
        break;
      case 1574:
        v = v * 3149u + 2477476u;
        break;
      case 1575:
        v = v * 3151u + 2480625u;
        break;
      case 1576:
        v = v * 3153u + 2483776u;
        break;
      case 1577:
        v = v * 3155u + 2486929u;
        break;
      case 1578:
        v = v * 3157u + 2490084u;
        break;
      case 1579:
        v = v * 3159u + 2493241u;
        break;
      case 1580:
        v = v * 3161u + 2496400u;
        break;
      case 1581:
        v = v * 3163u + 2499561u;
        break;
      case 1582:
        v = v * 3165u + 2502724u;
        break;
      case 1583:
        v = v * 3167u + 2505889u;
        break;
      case 1584:
        v = v * 3169u + 2509056u;
        break;
      case 1585:
        v = v * 3171u + 2512225u;
        break;
      case 1586:
        v = v * 3173u + 2515396u;
        break;
      case 1587:
        v = v * 3175u + 2518569u;
        break;
      case 1588:
        v = v * 3177u + 2521744u;
        break;
      case 1589:
        v = v * 3179u + 2524921u;
        break;
      case 1590:
        v = v * 3181u + 2528100u;
        break;
      case 1591:
        v = v * 3183u + 2531281u;
        break;
      case 1592:
        v = v * 3185u + 2534464u;
        break;
      case 1593:
        v = v * 3187u + 2537649u;
        break;
      case 1594:
        v = v * 3189u + 2540836u;
        break;
      case 1595:
        v = v * 3191u + 2544025u;
        break;
      case 1596:
        v = v * 3193u + 2547216u;
        break;
      case 1597:
        v = v * 3195u + 2550409u;
        break;
      case 1598:
        v = v * 3197u + 2553604u;
        break;
      case 1599:
        v = v * 3199u + 2556801u;
        break;
      case 1600:
        v = v * 3201u + 2560000u;
        break;
      case 1601:
        v = v * 3203u + 2563201u;
        break;
      case 1602:
        v = v * 3205u + 2566404u;
        break;
      case 1603:
        v = v * 3207u + 2569609u;
        break;
      case 1604:
        v = v * 3209u + 2572816u;
        break;
      case 1605:
        v = v * 3211u + 2576025u;
        break;
      case 1606:
        v = v * 3213u + 2579236u;
        break;
      case 1607:
        v = v * 3215u + 2582449u;
        break;
      case 1608:
        v = v * 3217u + 2585664u;
        break;
      case 1609:
        v = v * 3219u + 2588881u;
        break;
      case 1610:
        v = v * 3221u + 2592100u;
        break;
      case 1611:
        v = v * 3223u + 2595321u;
        break;
      case 1612:
        v = v * 3225u + 2598544u;
        break;
      case 1613:
        v = v * 3227u + 2601769u;
        break;
      case 1614:
        v = v * 3229u + 2604996u;
        break;
      case 1615:
        v = v * 3231u + 2608225u;
        break;
      case 1616:
        v = v * 3233u + 2611456u;
        break;
      case 1617:
        v = v * 3235u + 2614689u;
        break;
      case 1618:
        v = v * 3237u + 2617924u;
        break;
      case 1619:
        v = v * 3239u + 2621161u;
        break;
      case 1620:
        v = v * 3241u + 2624400u;
        break;
      case 1621:
        v = v * 3243u + 2627641u;
        break;
      case 1622:
        v = v * 3245u + 2630884u;
        break;
      case 1623:
        v = v * 3247u + 2634129u;
        break;
      case 1624:
        v = v * 3249u + 2637376u;
        break;
      case 1625:
        v = v * 3251u + 2640625u;
        break;
      case 1626:
        v = v * 3253u + 2643876u;
        break;
      case 1627:
        v = v * 3255u + 2647129u;
        break;
      case 1628:
        v = v * 3257u + 2650384u;
        break;
      case 1629:
        v = v * 3259u + 2653641u;
        break;
      case 1630:
        v = v * 3261u + 2656900u;
        break;
      case 1631:
        v = v * 3263u + 2660161u;
        break;
      case 1632:
        v = v * 3265u + 2663424u;
        break;
      case 1633:
        v = v * 3267u + 2666689u;
        break;
      case 1634:
        v = v * 3269u + 2669956u;
        break;
      case 1635:
        v = v * 3271u + 2673225u;
        break;
      case 1636:
        v = v * 3273u + 2676496u;
        break;
      case 1637:
        v = v * 3275u + 2679769u;
        break;
      case 1638:
        v = v * 3277u + 2683044u;
        break;
      case 1639:
        v = v * 3279u + 2686321u;
        break;
      case 1640:
        v = v * 3281u + 2689600u;
        break;
      case 1641:
        v = v * 3283u + 2692881u;
        break;
      case 1642:
        v = v * 3285u + 2696164u;
        break;
      case 1643:
        v = v * 3287u + 2699449u;
        break;
      case 1644:
        v = v * 3289u + 2702736u;
        break;
      case 1645:
        v = v * 3291u + 2706025u;
        break;
      case 1646:
        v = v * 3293u + 2709316u;
        break;
      case 1647:
        v = v * 3295u + 2712609u;
        break;
      case 1648:
        v = v * 3297u + 2715904u;
        break;
      case 1649:
        v = v * 3299u + 2719201u;
        break;
      case 1650:
        v = v * 3301u + 2722500u;
        break;
      case 1651:
        v = v * 3303u + 2725801u;
        break;
      case 1652:
        v = v * 3305u + 2729104u;
        break;
      case 1653:
        v = v * 3307u + 2732409u;
        break;
      case 1654:
        v = v * 3309u + 2735716u;
        break;
      case 1655:
        v = v * 3311u + 2739025u;
        break;
      case 1656:
        v = v * 3313u + 2742336u;
        break;
      case 1657:
        v = v * 3315u + 2745649u;
        break;
      case 1658:
        v = v * 3317u + 2748964u;
        break;
      case 1659:
        v = v * 3319u + 2752281u;
        break;
      case 1660:
        v = v * 3321u + 2755600u;
        break;
      case 1661:
        v = v * 3323u + 2758921u;
        break;
      case 1662:
        v = v * 3325u + 2762244u;
        break;
      case 1663:
        v = v * 3327u + 2765569u;
        break;
      case 1664:
        v = v * 3329u + 2768896u;
        break;
      case 1665:
        v = v * 3331u + 2772225u;
        break;
      case 1666:
        v = v * 3333u + 2775556u;
        break;
      case 1667:
        v = v * 3335u + 2778889u;
        break;
      case 1668:
        v = v * 3337u + 2782224u;
        break;
      case 1669:
        v = v * 3339u + 2785561u;
        break;
      case 1670:
        v = v * 3341u + 2788900u;
        break;
      case 1671:
        v = v * 3343u + 2792241u;
        break;
      case 1672:
        v = v * 3345u + 2795584u;
        break;
      case 1673:
        v = v * 3347u + 2798929u;
        break;
      case 1674:
        v = v * 3349u + 2802276u;
        break;
      case 1675:
        v = v * 3351u + 2805625u;
        break;
      case 1676:
        v = v * 3353u + 2808976u;
        break;
      case 1677:
        v = v * 3355u + 2812329u;
        break;
      case 1678:
        v = v * 3357u + 2815684u;
        break;
      case 1679:
        v = v * 3359u + 2819041u;
        break;
      case 1680:
        v = v * 3361u + 2822400u;
        break;
      case 1681:
        v = v * 3363u + 2825761u;
        break;
      case 1682:
        v = v * 3365u + 2829124u;
        break;
      case 1683:
        v = v * 3367u + 2832489u;
        break;
      case 1684:
        v = v * 3369u + 2835856u;
        break;
      case 1685:
        v = v * 3371u + 2839225u;
        break;
      case 1686:
        v = v * 3373u + 2842596u;
        break;
      case 1687:
        v = v * 3375u + 2845969u;
        break;
      case 1688:
        v = v * 3377u + 2849344u;
        break;
      case 1689:
        v = v * 3379u + 2852721u;
        break;
      case 1690:
        v = v * 3381u + 2856100u;
        break;
      case 1691:
        v = v * 3383u + 2859481u;
        break;
      case 1692:
        v = v * 3385u + 2862864u;
        break;
      case 1693:
        v = v * 3387u + 2866249u;
        break;
      case 1694:
        v = v * 3389u + 2869636u;
        break;
      case 1695:
        v = v * 3391u + 2873025u;
        break;
      case 1696:
        v = v * 3393u + 2876416u;
        break;
      case 1697:
        v = v * 3395u + 2879809u;
        break;
      case 1698:
        v = v * 3397u + 2883204u;
        break;
      case 1699:
        v = v * 3399u + 2886601u;
        break;
      case 1700:
        v = v * 3401u + 2890000u;
        break;
      case 1701:
        v = v * 3403u + 2893401u;
        break;
      case 1702:
        v = v * 3405u + 2896804u;
        break;
      case 1703:
        v = v * 3407u + 2900209u;
        break;
      case 1704:
        v = v * 3409u + 2903616u;
        break;
      case 1705:
        v = v * 3411u + 2907025u;
        break;
      case 1706:
        v = v * 3413u + 2910436u;
        break;
      case 1707:
        v = v * 3415u + 2913849u;
        break;
      case 1708:
        v = v * 3417u + 2917264u;
        break;
      case 1709:
        v = v * 3419u + 2920681u;
        break;
      case 1710:
        v = v * 3421u + 2924100u;
        break;
      case 1711:
        v = v * 3423u + 2927521u;
        break;
      case 1712:
        v = v * 3425u + 2930944u;
        break;
      case 1713:
        v = v * 3427u + 2934369u;
        break;
      case 1714:
        v = v * 3429u + 2937796u;
        break;
      case 1715:
        v = v * 3431u + 2941225u;
        break;
      case 1716:
        v = v * 3433u + 2944656u;
        break;
      case 1717:
        v = v * 3435u + 2948089u;
        break;
      case 1718:
        v = v * 3437u + 2951524u;
        break;
      case 1719:
        v = v * 3439u + 2954961u;
        break;
      case 1720:
        v = v * 3441u + 2958400u;
        break;
      case 1721:
        v = v * 3443u + 2961841u;
        break;
      case 1722:
        v = v * 3445u + 2965284u;
        break;
      case 1723:
        v = v * 3447u + 2968729u;
        break;
      case 1724:
        v = v * 3449u + 2972176u;
        break;
      case 1725:
        v = v * 3451u + 2975625u;
        break;
      case 1726:
        v = v * 3453u + 2979076u;
        break;
      case 1727:
        v = v * 3455u + 2982529u;
        break;
      case 1728:
        v = v * 3457u + 2985984u;
        break;
      case 1729:
        v = v * 3459u + 2989441u;
        break;
      case 1730:
        v = v * 3461u + 2992900u;
        break;
      case 1731:
        v = v * 3463u + 2996361u;
        break;
      case 1732:
        v = v * 3465u + 2999824u;
        break;
      case 1733:
        v = v * 3467u + 3003289u;
        break;
      case 1734:
        v = v * 3469u + 3006756u;
        break;
      case 1735:
        v = v * 3471u + 3010225u;
        break;
      case 1736:
        v = v * 3473u + 3013696u;
        break;
      case 1737:
        v = v * 3475u + 3017169u;
        break;
      case 1738:
        v = v * 3477u + 3020644u;
        break;
      case 1739:
        v = v * 3479u + 3024121u;
        break;
      case 1740:
        v = v * 3481u + 3027600u;
        break;
      case 1741:
        v = v * 3483u + 3031081u;
        break;
      case 1742:
        v = v * 3485u + 3034564u;
        break;
      case 1743:
        v = v * 3487u + 3038049u;
        break;
      case 1744:
        v = v * 3489u + 3041536u;
        break;
      case 1745:
        v = v * 3491u + 3045025u;
        break;
      case 1746:
        v = v * 3493u + 3048516u;
        break;
      case 1747:
        v = v * 3495u + 3052009u;
        break;
      case 1748:
        v = v * 3497u + 3055504u;
        break;
      case 1749:
        v = v * 3499u + 3059001u;
        break;
      case 1750:
        v = v * 3501u + 3062500u;
        break;
      case 1751:
        v = v * 3503u + 3066001u;
        break;
      case 1752:
        v = v * 3505u + 3069504u;
        break;
      case 1753:
        v = v * 3507u + 3073009u;
        break;
      case 1754:
        v = v * 3509u + 3076516u;
        break;
      case 1755:
        v = v * 3511u + 3080025u;
        break;
      case 1756:
        v = v * 3513u + 3083536u;
        break;
      case 1757:
        v = v * 3515u + 3087049u;
        break;
      case 1758:
        v = v * 3517u + 3090564u;
        break;
      case 1759:
        v = v * 3519u + 3094081u;
        break;
      case 1760:
        v = v * 3521u + 3097600u;
        break;
      case 1761:
        v = v * 3523u + 3101121u;
        break;
      case 1762:
        v = v * 3525u + 3104644u;
        break;
      case 1763:
        v = v * 3527u + 3108169u;
        break;
      case 1764:
        v = v * 3529u + 3111696u;
        break;
      case 1765:
        v = v * 3531u + 3115225u;
        break;
      case 1766:
        v = v * 3533u + 3118756u;
        break;
      case 1767:
        v = v * 3535u + 3122289u;
        break;
      case 1768:
        v = v * 3537u + 3125824u;
        break;
      case 1769:
        v = v * 3539u + 3129361u;
        break;
      case 1770:
        v = v * 3541u + 3132900u;
        break;
      case 1771:
        v = v * 3543u + 3136441u;
        break;
      case 1772:
        v = v * 3545u + 3139984u;
        break;
      case 1773:
        v = v * 3547u + 3143529u;
        break;
      case 1774:
        v = v * 3549u + 3147076u;
        break;
      case 1775:
        v = v * 3551u + 3150625u;
        break;
      case 1776:
        v = v * 3553u + 3154176u;
        break;
      case 1777:
        v = v * 3555u + 3157729u;
        break;
      case 1778:
        v = v * 3557u + 3161284u;
        break;
      case 1779:
        v = v * 3559u + 3164841u;
        break;
      case 1780:
        v = v * 3561u + 3168400u;
        break;
      case 1781:
        v = v * 3563u + 3171961u;
        break;
      case 1782:
        v = v * 3565u + 3175524u;
        break;
      case 1783:
        v = v * 3567u + 3179089u;
        break;
      case 1784:
        v = v * 3569u + 3182656u;
        break;
      case 1785:
        v = v * 3571u + 3186225u;
        break;
      case 1786:
        v = v * 3573u + 3189796u;
        break;
      case 1787:
        v = v * 3575u + 3193369u;
        break;
      case 1788:
        v = v * 3577u + 3196944u;
        break;
      case 1789:
        v = v * 3579u + 3200521u;
        break;
      case 1790:
        v = v * 3581u + 3204100u;
        break;
      case 1791:
        v = v * 3583u + 3207681u;
        break;
      case 1792:
        v = v * 3585u + 3211264u;
        break;
      case 1793:
        v = v * 3587u + 3214849u;
        break;
      case 1794:
        v = v * 3589u + 3218436u;
        break;
      case 1795:
        v = v * 3591u + 3222025u;
        break;
      case 1796:
        v = v * 3593u + 3225616u;
        break;
      case 1797:
        v = v * 3595u + 3229209u;
        break;
      case 1798:
        v = v * 3597u + 3232804u;
        break;
      case 1799:
        v = v * 3599u + 3236401u;
        break;
      case 1800:
        v = v * 3601u + 3240000u;
        break;
      case 1801:
        v = v * 3603u + 3243601u;
        break;
      case 1802:
        v = v * 3605u + 3247204u;
        break;
      case 1803:
        v = v * 3607u + 3250809u;
        break;
      case 1804:
        v = v * 3609u + 3254416u;
        break;
      case 1805:
        v = v * 3611u + 3258025u;
        break;
      case 1806:
        v = v * 3613u + 3261636u;
        break;
      case 1807:
        v = v * 3615u + 3265249u;
        break;
      case 1808:
        v = v * 3617u + 3268864u;
        break;
      case 1809:
        v = v * 3619u + 3272481u;
        break;
      case 1810:
        v = v * 3621u + 3276100u;
        break;
      case 1811:
        v = v * 3623u + 3279721u;
        break;
      case 1812:
        v = v * 3625u + 3283344u;
        break;
      case 1813:
        v = v * 3627u + 3286969u;
        break;
      case 1814:
        v = v * 3629u + 3290596u;
        break;
      case 1815:
        v = v * 3631u + 3294225u;
        break;
      case 1816:
        v = v * 3633u + 3297856u;
        break;
      case 1817:
        v = v * 3635u + 3301489u;
        break;
      case 1818:
        v = v * 3637u + 3305124u;
        break;
      case 1819:
        v = v * 3639u + 3308761u;
        break;
      case 1820:
        v = v * 3641u + 3312400u;
        break;
      case 1821:
        v = v * 3643u + 3316041u;
        break;
      case 1822:
        v = v * 3645u + 3319684u;
        break;
      case 1823:
        v = v * 3647u + 3323329u;
        break;
      case 1824:
        v = v * 3649u + 3326976u;
        break;
      case 1825:
        v = v * 3651u + 3330625u;
        break;
      case 1826:
        v = v * 3653u + 3334276u;
        break;
      case 1827:
        v = v * 3655u + 3337929u;
        break;
      case 1828:
        v = v * 3657u + 3341584u;
        break;
      case 1829:
        v = v * 3659u + 3345241u;
        break;
      case 1830:
        v = v * 3661u + 3348900u;
        break;
      case 1831:
        v = v * 3663u + 3352561u;
        break;
      case 1832:
        v = v * 3665u + 3356224u;
        break;
      case 1833:
        v = v * 3667u + 3359889u;
        break;
      case 1834:
        v = v * 3669u + 3363556u;
        break;
      case 1835:
        v = v * 3671u + 3367225u;
        break;
      case 1836:
        v = v * 3673u + 3370896u;
        break;
      case 1837:
        v = v * 3675u + 3374569u;
        break;
      case 1838:
        v = v * 3677u + 3378244u;
        break;
      case 1839:
        v = v * 3679u + 3381921u;
        break;
      case 1840:
        v = v * 3681u + 3385600u;
        break;
      case 1841:
        v = v * 3683u + 3389281u;
        break;
      case 1842:
        v = v * 3685u + 3392964u;
        break;
      case 1843:
        v = v * 3687u + 3396649u;
        break;
      case 1844:
        v = v * 3689u + 3400336u;
        break;
      case 1845:
        v = v * 3691u + 3404025u;
        break;
      case 1846:
        v = v * 3693u + 3407716u;
        break;
      case 1847:
        v = v * 3695u + 3411409u;
        break;
      case 1848:
        v = v * 3697u + 3415104u;
        break;
      case 1849:
        v = v * 3699u + 3418801u;
        break;
      case 1850:
        v = v * 3701u + 3422500u;
        break;
      case 1851:
        v = v * 3703u + 3426201u;
        break;
      case 1852:
        v = v * 3705u + 3429904u;
        break;
      case 1853:
        v = v * 3707u + 3433609u;
        break;
      case 1854:
        v = v * 3709u + 3437316u;
        break;
      case 1855:
        v = v * 3711u + 3441025u;
        break;
      case 1856:
        v = v * 3713u + 3444736u;
        break;
      case 1857:
        v = v * 3715u + 3448449u;
        break;
      case 1858:
        v = v * 3717u + 3452164u;
        break;
      case 1859:
        v = v * 3719u + 3455881u;
        break;
      case 1860:
        v = v * 3721u + 3459600u;
        break;
      case 1861:
        v = v * 3723u + 3463321u;
        break;
      case 1862:
        v = v * 3725u + 3467044u;
        break;
      case 1863:
        v = v * 3727u + 3470769u;
        break;
      case 1864:
        v = v * 3729u + 3474496u;
        break;
      case 1865:
        v = v * 3731u + 3478225u;
        break;
      case 1866:
        v = v * 3733u + 3481956u;
        break;
      case 1867:
        v = v * 3735u + 3485689u;
        break;
      case 1868:
        v = v * 3737u + 3489424u;
        break;
      case 1869:
        v = v * 3739u + 3493161u;
        break;
      case 1870:
        v = v * 3741u + 3496900u;
        break;
      case 1871:
        v = v * 3743u + 3500641u;
        break;
      case 1872:
        v = v * 3745u + 3504384u;
        break;
      case 1873:
        v = v * 3747u + 3508129u;
        break;
      case 1874:
        v = v * 3749u + 3511876u;
        break;
      case 1875:
        v = v * 3751u + 3515625u;
        break;
      case 1876:
        v = v * 3753u + 3519376u;
        break;
      case 1877:
        v = v * 3755u + 3523129u;
        break;
      case 1878:
        v = v * 3757u + 3526884u;
        break;
      case 1879:
        v = v * 3759u + 3530641u;
        break;
      case 1880:
        v = v * 3761u + 3534400u;
        break;
      case 1881:
        v = v * 3763u + 3538161u;
        break;
      case 1882:
        v = v * 3765u + 3541924u;
        break;
      case 1883:
        v = v * 3767u + 3545689u;
        break;
      case 1884:
        v = v * 3769u + 3549456u;
        break;
      case 1885:
        v = v * 3771u + 3553225u;
        break;
      case 1886:
        v = v * 3773u + 3556996u;
        break;
      case 1887:
        v = v * 3775u + 3560769u;
        break;
      case 1888:
        v = v * 3777u + 3564544u;
        break;
      case 1889:
        v = v * 3779u + 3568321u;
        break;
      case 1890:
        v = v * 3781u + 3572100u;
        break;
      case 1891:
        v = v * 3783u + 3575881u;
        break;
      case 1892:
        v = v * 3785u + 3579664u;
        break;
      case 1893:
        v = v * 3787u + 3583449u;
        break;
      case 1894:
        v = v * 3789u + 3587236u;
        break;
      case 1895:
        v = v * 3791u + 3591025u;
        break;
      case 1896:
        v = v * 3793u + 3594816u;
        break;
      case 1897:
        v = v * 3795u + 3598609u;
        break;
      case 1898:
        v = v * 3797u + 3602404u;
        break;
      case 1899:
        v = v * 3799u + 3606201u;
        break;
      case 1900:
        v = v * 3801u + 3610000u;
        break;
      case 1901:
        v = v * 3803u + 3613801u;
        break;
      case 1902:
        v = v * 3805u + 3617604u;
        break;
      case 1903:
        v = v * 3807u + 3621409u;
        break;
      case 1904:
        v = v * 3809u + 3625216u;
        break;
      case 1905:
        v = v * 3811u + 3629025u;
        break;
      case 1906:
        v = v * 3813u + 3632836u;
        break;
      case 1907:
        v = v * 3815u + 3636649u;
        break;
      case 1908:
        v = v * 3817u + 3640464u;
        break;
      case 1909:
        v = v * 3819u + 3644281u;
        break;
      case 1910:
        v = v * 3821u + 3648100u;
        break;
      case 1911:
        v = v * 3823u + 3651921u;
        break;
      case 1912:
        v = v * 3825u + 3655744u;
        break;
      case 1913:
        v = v * 3827u + 3659569u;
        break;
      case 1914:
        v = v * 3829u + 3663396u;
        break;
      case 1915:
        v = v * 3831u + 3667225u;
        break;
      case 1916:
        v = v * 3833u + 3671056u;
        break;
      case 1917:
        v = v * 3835u + 3674889u;
        break;
      case 1918:
        v = v * 3837u + 3678724u;
        break;
      case 1919:
        v = v * 3839u + 3682561u;
        break;
      case 1920:
        v = v * 3841u + 3686400u;
        break;
      case 1921:
        v = v * 3843u + 3690241u;
        break;
      case 1922:
        v = v * 3845u + 3694084u;
        break;
      case 1923:
        v = v * 3847u + 3697929u;
        break;
      case 1924:
        v = v * 3849u + 3701776u;
        break;
      case 1925:
        v = v * 3851u + 3705625u;
        break;
      case 1926:
        v = v * 3853u + 3709476u;
        break;
      case 1927:
        v = v * 3855u + 3713329u;
        break;
      case 1928:
        v = v * 3857u + 3717184u;
        break;
      case 1929:
        v = v * 3859u + 3721041u;
        break;
      case 1930:
        v = v * 3861u + 3724900u;
        break;
      case 1931:
        v = v * 3863u + 3728761u;
        break;
      case 1932:
        v = v * 3865u + 3732624u;
        break;
      case 1933:
        v = v * 3867u + 3736489u;
        break;
      case 1934:
        v = v * 3869u + 3740356u;
        break;
      case 1935:
        v = v * 3871u + 3744225u;
        break;
      case 1936:
        v = v * 3873u + 3748096u;
        break;
      case 1937:
        v = v * 3875u + 3751969u;
        break;
      case 1938:
        v = v * 3877u + 3755844u;
        break;
      case 1939:
        v = v * 3879u + 3759721u;
        break;
      case 1940:
        v = v * 3881u + 3763600u;
        break;
      case 1941:
        v = v * 3883u + 3767481u;
        break;
      case 1942:
        v = v * 3885u + 3771364u;
        break;
      case 1943:
        v = v * 3887u + 3775249u;
        break;
      case 1944:
        v = v * 3889u + 3779136u;
        break;
      case 1945:
        v = v * 3891u + 3783025u;
        break;
      case 1946:
        v = v * 3893u + 3786916u;
        break;
      case 1947:
        v = v * 3895u + 3790809u;
        break;
      case 1948:
        v = v * 3897u + 3794704u;
        break;
      case 1949:
        v = v * 3899u + 3798601u;
        break;
      case 1950:
        v = v * 3901u + 3802500u;
        break;
      case 1951:
        v = v * 3903u + 3806401u;
        break;
      case 1952:
        v = v * 3905u + 3810304u;
        break;
      case 1953:
        v = v * 3907u + 3814209u;
        break;
      case 1954:
        v = v * 3909u + 3818116u;
        break;
      case 1955:
        v = v * 3911u + 3822025u;
        break;
      case 1956:
        v = v * 3913u + 3825936u;
        break;
      case 1957:
        v = v * 3915u + 3829849u;
        break;
      case 1958:
        v = v * 3917u + 3833764u;
        break;
      case 1959:
        v = v * 3919u + 3837681u;
        break;
      case 1960:
        v = v * 3921u + 3841600u;
        break;
      case 1961:
        v = v * 3923u + 3845521u;
        break;
      case 1962:
        v = v * 3925u + 3849444u;
        break;
      case 1963:
        v = v * 3927u + 3853369u;
        break;
      case 1964:
        v = v * 3929u + 3857296u;
        break;
      case 1965:
        v = v * 3931u + 3861225u;
        break;
      case 1966:
        v = v * 3933u + 3865156u;
        break;
      case 1967:
        v = v * 3935u + 3869089u;
        break;
      case 1968:
        v = v * 3937u + 3873024u;
        break;
      case 1969:
        v = v * 3939u + 3876961u;
        break;
      case 1970:
        v = v * 3941u + 3880900u;
        break;
      case 1971:
        v = v * 3943u + 3884841u;
        break;
      case 1972:
        v = v * 3945u + 3888784u;
        break;
      case 1973:
        v = v * 3947u + 3892729u;
        break;
      case 1974:
        v = v * 3949u + 3896676u;
        break;
      case 1975:
        v = v * 3951u + 3900625u;
        break;
      case 1976:
        v = v * 3953u + 3904576u;
        break;
      case 1977:
        v = v * 3955u + 3908529u;
        break;
      case 1978:
        v = v * 3957u + 3912484u;
        break;
      case 1979:
        v = v * 3959u + 3916441u;
        break;
      case 1980:
        v = v * 3961u + 3920400u;
        break;
      case 1981:
        v = v * 3963u + 3924361u;
        break;
      case 1982:
        v = v * 3965u + 3928324u;
        break;
      case 1983:
        v = v * 3967u + 3932289u;
        break;
      case 1984:
        v = v * 3969u + 3936256u;
        break;
      case 1985:
        v = v * 3971u + 3940225u;
        break;
      case 1986:
        v = v * 3973u + 3944196u;
        break;
      case 1987:
        v = v * 3975u + 3948169u;
        break;
      case 1988:
        v = v * 3977u + 3952144u;
        break;
      case 1989:
        v = v * 3979u + 3956121u;
        break;
      case 1990:
        v = v * 3981u + 3960100u;
        break;
      case 1991:
        v = v * 3983u + 3964081u;
        break;
      case 1992:
        v = v * 3985u + 3968064u;
        break;
      case 1993:
        v = v * 3987u + 3972049u;
        break;
      case 1994:
        v = v * 3989u + 3976036u;
        break;
      case 1995:
        v = v * 3991u + 3980025u;
        break;
      case 1996:
        v = v * 3993u + 3984016u;
        break;
      case 1997:
        v = v * 3995u + 3988009u;
        break;
      case 1998:
        v = v * 3997u + 3992004u;
        break;
      case 1999:
        v = v * 3999u + 3996001u;
        break;
    }
  }
  y[i] = v == 42 ? 1.0f : fmaxf(x[i], 0.0f);
}

extern "C" void launch(const float* x, float* y, int n, cudaStream_t stream) {
  relu<<<(n + 255) / 256, 256, 0, stream>>>(x, y, n);
}
